"""What people install: the source archive is complete, and the wheel built from it works in a folder of its own."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from cutaway.recipes.index import RECIPES
from cutaway.registry import entries

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDERS = (".ci", "benchmarks", "cutaway", "docs", "examples", "tests")
FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md", "constraints.txt")


def run(*words: str, folder: Path) -> str:
    """What a command prints, run in ``folder`` by a Python that sees nothing of this tree."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_the_project(folder: Path) -> set[str]:
    """The files that belong to the project, by their paths."""
    files = {path for part in FOLDERS for path in (folder / part).rglob("*") if path.is_file()}
    files |= {folder / name for name in (*FILES, "pyproject.toml")}
    return {str(path.relative_to(folder)) for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The source archive, built from a copy of the tree (a build leaves folders behind) and unpacked."""
    folder = tmp_path_factory.mktemp("source")
    for name in in_the_project(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    run("-c", "from setuptools import build_meta; build_meta.build_sdist('archives')", folder=folder)
    (archive,) = (folder / "archives").iterdir()
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (project,) = (folder / "unpacked").iterdir()
    return project


@pytest.fixture(scope="module")
def installed(unpacked: Path) -> Path:
    """A folder into which the wheel of the archive was installed, alone."""
    run("-c", "from setuptools import build_meta; build_meta.build_wheel('wheels')", folder=unpacked)
    (wheel,) = (unpacked / "wheels").iterdir()
    home = unpacked / "installed"
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(home))
    run(*pip, str(wheel), folder=unpacked)
    return home


def test_the_source_archive_is_the_whole_project(unpacked: Path):
    missing = in_the_project(ROOT) - in_the_project(unpacked)
    assert not missing


def test_the_wheel_holds_every_file_of_the_package(installed: Path):
    def package(folder: Path) -> set[str]:
        return {name for name in in_the_project(folder) if name.startswith("cutaway/")}

    assert package(installed) == package(ROOT)


def imports_from_here(path: Path, siblings: set[str]) -> list[str]:
    """The statements of a script, at any depth, that import Cutaway or a script beside it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if any(name and name.split(".")[0] in {"cutaway", *siblings} for name in names):
            found.append(ast.unparse(node))
    return found


# Runs where the package was installed: what needs its assets, stubs and lazy names, and all that scripts import of it.
TRIAL = """
import json, pathlib, sys, torch, cutaway as cut
from cutaway.recipes.index import RECIPES
from cutaway.registry import entries

assert pathlib.Path(cut.__file__).parents[1] == pathlib.Path.cwd(), cut.__file__
scripts = json.loads(sys.argv[1])
for script, statements in scripts.items():
    sys.path.insert(0, str(pathlib.Path(script).parent))
    for statement in statements:
        exec(compile(statement, script, "exec"), {})
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
graph = cut.graph(model, torch.randn(4, 3))
text = pathlib.Path("text.txt")
text.write_text("the dog ate the cake and the cat ate the dog.\\n" * 60)
sizes = dict(width=16, depth=1, heads=2, context=16, batch=4, sample_tokens=5)
often = dict(steps=2, warmup=0, evaluate_every=2, checkpoint_every=2)
run = cut.train("gpt", data=text, out="run", device="cpu", show="quiet", **sizes, **often)
found = {"blocks": [entry.name for entry in entries()], "recipes": sorted(RECIPES), "graph": graph.to_html()}
print(json.dumps(found | {"report": (run.path / "report.html").read_text(encoding="utf-8")}))
"""


@pytest.mark.long
def test_the_installed_package_lists_draws_trains_and_reports(installed: Path, unpacked: Path):
    scripts = sorted([*(unpacked / "benchmarks").glob("*.py"), *(unpacked / "examples").glob("*.py")])
    beside = {path.stem for path in scripts}
    asked = {str(path): imports_from_here(path, beside) for path in scripts}
    assert sum(map(len, asked.values())) > len(scripts)
    found = json.loads(run("-c", TRIAL, json.dumps(asked), folder=installed).splitlines()[-1])
    assert found["blocks"] == [entry.name for entry in entries()]
    assert found["recipes"] == sorted(RECIPES)
    for asset in (ROOT / "cutaway" / "look" / "graph_drawing" / "assets").iterdir():
        first = next(line for line in asset.read_text(encoding="utf-8").splitlines() if len(line) > 20)
        assert first.strip() in found["graph"], f"{asset.name} is not on the page"
    assert "<svg" in found["report"]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def test_lower_bounds_are_the_versions_that_were_run():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    bounds = [Requirement(text) for requirements in lists for text in requirements]
    assert len(bounds) > 20
    for bound in bounds:
        if bound.name != "cutaway":
            assert str(bound.specifier) == f">={pinned()[canonicalize_name(bound.name)]}", bound


def test_the_tests_run_with_the_pinned_versions():
    """Else the bounds would name versions that nobody ran."""
    from importlib.metadata import PackageNotFoundError, version

    for name, pin in pinned().items():
        try:
            found = Version(version(name))
        except PackageNotFoundError:
            continue
        assert found.public == pin, f"{name} {found} is installed, constraints.txt says {pin}"


def test_make_installs_the_pinned_torch():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"torch==([\d.]+)", makefile).group(1) == pinned()["torch"]  # type: ignore[union-attr]
