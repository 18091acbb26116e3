r"""The style sheet and the script of our pages: system fonts, light, dark and print; nothing is fetched.

Words keep to one readable column; on a wide screen pictures stand two in a row, and one that is too wide for half of it
takes the whole row.
"""

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
body {{ margin: 0 auto; padding: 3rem 1.25rem 4rem; max-width: 52rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 {FONT}; overflow-wrap: break-word; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; letter-spacing: -.01em; }}
h2 {{ font-size: 1.3rem; margin: 3rem 0 1rem; padding-bottom: .3rem; border-bottom: 1px solid var(--grid); }}
p {{ margin: 0 0 1rem; max-width: 42rem; }}
.lead {{ color: var(--soft); font-size: 1.08rem; }}
dl {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem 1.5rem;
  margin: 1.5rem 0; }}
dt {{ color: var(--soft); font-size: .85rem; }}
dd {{ margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }}
.pictures {{ display: grid; grid-template-columns: minmax(0, 1fr); gap: 2.2rem 2.5rem; margin: 0 0 2.2rem; }}
.pictures figure {{ margin: 0; }}
figure {{ margin: 0 0 2.2rem; break-inside: avoid; min-width: 0; }}
h3 {{ font-size: 1rem; font-weight: 600; margin: 0 0 .6rem; }}
figcaption {{ margin-top: .5rem; max-width: 42rem; font-size: .92rem; }}
figcaption b {{ display: block; font-weight: normal; }}
figcaption span {{ display: block; color: var(--soft); white-space: pre-line; }}
@media screen and (min-width: 78rem) {{
  body {{ max-width: 84rem; }}
  .pictures {{ grid-template-columns: repeat(2, minmax(0, 1fr)); }}
  .pictures > .whole-row {{ grid-column: 1 / -1; }}
}}
.pictures > figure:has(.drawing) {{ grid-column: 1 / -1; }}
.chart, .drawing {{ width: 100%; overflow-x: auto; }}
.chart svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; min-width: min(100%, 26rem); max-width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding-bottom: .4rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--grid); }}
thead th {{ color: var(--soft); font-weight: normal; }}
tbody th {{ font-weight: normal; }}
td.number, th.number {{ text-align: right; padding-left: 1.5rem; }}
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
    .then(() => {
      // one that is wider than its column takes the whole row
      const drawn = place.querySelector("svg"), figure = place.closest("figure");
      if (drawn && drawn.viewBox.baseVal.width > place.clientWidth + 8) figure.classList.add("whole-row");
    })
    .catch(error => { place.textContent = "This picture could not be drawn: " + error.message; });
}
"""
