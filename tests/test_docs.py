"""The examples of README and docs run, and print what they say they print."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
