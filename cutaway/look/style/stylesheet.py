r"""The style sheet and the script of our pages: system fonts, one column, light, dark and print; nothing is fetched."""

from cutaway.look.style.theme import DARK, FONT, LIGHT, Ground


def _variables(ground: Ground) -> str:
    return f"--paper: {ground.paper}; --ink: {ground.ink}; --soft: {ground.soft}; --grid: {ground.grid};"


# The browser itself refuses whatever would leave the page: images, scripts and data come from inside or not at all.
# Vega makes functions of the expressions in a chart, hence 'unsafe-eval'.
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "base-uri 'none'; form-action 'none'"
)

STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} --code: #F4F6F8; --accent: #0072B2; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ {_variables(DARK)} --code: #1E2329; --accent: #56B4E9; }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 3rem 1.25rem 4rem; max-width: 50rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 {FONT}; overflow-wrap: break-word; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; letter-spacing: -.01em; }}
h2 {{ font-size: 1.3rem; margin: 3rem 0 1rem; padding-bottom: .3rem; border-bottom: 1px solid var(--grid); }}
p {{ margin: 0 0 1rem; max-width: 42rem; }}
.lead {{ color: var(--soft); font-size: 1.08rem; }}
dl {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem 1.5rem;
  margin: 1.5rem 0; }}
dt {{ color: var(--soft); font-size: .85rem; }}
dd {{ margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }}
figure {{ margin: 0 0 2.2rem; break-inside: avoid; }}
figcaption {{ margin-bottom: .7rem; }}
figcaption strong {{ display: block; font-weight: 600; }}
figcaption span {{ display: block; color: var(--soft); font-size: .9rem; white-space: pre-line; }}
.chart {{ max-width: 100%; overflow-x: auto; }}
.chart svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding-bottom: .4rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--grid); }}
thead th {{ color: var(--soft); font-weight: normal; }}
tbody th {{ font-weight: normal; }}
td.number, th.number {{ text-align: right; }}
.wide {{ overflow-x: auto; margin: 0 0 2rem; }}
pre {{ margin: 0; padding: .9rem 1rem; background: var(--code); border-radius: 6px; white-space: pre-wrap;
  font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }}
details {{ margin: 0 0 2rem; }}
summary {{ cursor: pointer; color: var(--accent); margin-bottom: 1rem; }}
#vg-tooltip-element.vg-tooltip {{ background: var(--paper); color: var(--ink); border: 1px solid var(--grid);
  font: .85rem/1.4 {FONT}; box-shadow: 0 2px 8px rgb(0 0 0 / .2); }}
#vg-tooltip-element.vg-tooltip table tr td {{ border: 0; padding: 1px 6px; }}
#vg-tooltip-element.vg-tooltip table tr td.key {{ color: var(--soft); }}
#vg-tooltip-element.vg-tooltip table {{ width: auto; }}
@media print {{ body {{ padding: 0; max-width: none; font-size: 10pt; }} h2 {{ break-after: avoid; }}
  details::details-content {{ content-visibility: visible; }} }}
"""

SCRIPT = """
for (const place of document.querySelectorAll("[data-spec]")) {
  const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
  vegaEmbed(place, spec, {renderer: "svg", actions: false})
    .catch(error => { place.textContent = "This picture could not be drawn: " + error.message; });
}
"""
