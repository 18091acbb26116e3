"""The examples of README and docs run, and print what they say they print."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = re.compile(r"```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page: Path):
    names: dict[str, object] = {}
    for code, shown in SHOWN.findall(page.read_text(encoding="utf-8")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page.name, "exec"), names)
        assert out.getvalue().strip() == shown.strip()


def test_readme_has_an_example_with_output():
    assert SHOWN.search((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def rows_of(page: str, heading: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split(f"## {heading}")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ][2:]


# What a newcomer looks for, and a word that the file must then hold.
LOOKED_FOR = {
    "softmax temperature": "temperature",
    "how the type of a CSV column is found": "def ",
    "device choice": "def find_device",
    "BLEU": "def bleu",
    "F1": "def f1",
    "class Run": "class Run",
    "t-SNE": "def tsne",
    "warm-up": "warm",
    "clipping": "clip",
    "attention colours": "MAGNITUDE",
    "top-p": "top_p",
    "adding a recipe": "class Recipe",
    "adding an ability (a verb)": "ABILITY = Ability(",
    "adding a task": "class ",
    "adding a view": "register(",
    "adding a checkpoint family": "class Family",
    "adding a claim": "def test_",
}


def test_a_newcomer_finds_things_by_the_name_of_a_file():
    found = {row[0]: re.findall(r"\]\(([^)]+)\)", row[1]) for row in rows_of("house.md", "Where do I find …")}
    assert list(found) == list(LOOKED_FOR)
    for thing, files in found.items():
        assert 1 <= len(files) <= 2, thing
        first = (ROOT / "docs" / files[0]).read_text(encoding="utf-8")
        assert LOOKED_FOR[thing] in first, f"{thing}: not in {files[0]}"


def test_every_stop_of_the_walks_is_there():
    text = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
    stops = re.findall(r"\[`(\w+)`\]\(([^)]+)\)", text)
    assert len(stops) > 30
    for name, place in stops:
        code = (ROOT / "docs" / place).read_text(encoding="utf-8")
        assert re.search(rf"^(?:def|class) {name}\b", code, re.MULTILINE), f"walk.md: no {name} in {place}"
    assert len(text.split("## ")) == 6  # five walks
    assert text.split("## ")[1].count("\n1") == 2  # the first has ten stops: 1 and 10 begin with a one


@pytest.mark.long
def test_the_site_builds(tmp_path: Path):
    """Without a warning: every link leads somewhere, and no page fetches anything from a network."""
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        for tag in re.findall(r"<(?:script|link|img)[^>]*>", page.read_text(encoding="utf-8")):
            assert not re.search(r"(?:src|href)=.?https?:", tag) or 'rel="canonical"' in tag, f"{page.name}: {tag}"
    attention = (tmp_path / "reference" / "cutaway.blocks.attention.html").read_text(encoding="utf-8")
    assert "A = softmax(" in attention  # equations as they are written
