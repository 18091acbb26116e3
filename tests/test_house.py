"""The house itself: what importing costs, which way imports point, that no file hides an exported name."""

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

import cutaway

ROOT = Path(cutaway.__file__).parent
MODULES = sorted(
    ".".join(["cutaway", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path.name != "__main__.py"
)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_by(code: str) -> set[str]:
    out = run_python(f"import sys\n{code}\nprint(' '.join(sys.modules))")
    return {name.split(".")[0] for name in out.splitlines()[-1].split()}


def test_importing_cutaway_imports_nothing_heavy():
    assert not imported_by("import cutaway") & {"torch", "numpy", "pandas", "altair", "tyro", "rich"}


def test_help_imports_nothing_heavy():
    code = "from cutaway.cli import run\nimport contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): run([])"
    assert not imported_by(code) & {"torch", "numpy", "pandas", "altair", "tyro", "rich"}


def test_recipe_settings_import_without_torch():
    code = "from cutaway.recipes.names import RECIPES, find_recipe\nfor name in RECIPES: find_recipe(name)"
    assert not imported_by(code) & {"torch", "pandas", "altair", "transformers"}


@pytest.mark.parametrize("seed", range(3))
def test_public_names_survive_any_order_of_imports(seed: int):
    """A sub-module that carries an exported name would replace it in its package once imported."""
    names = list(MODULES)
    random.Random(seed).shuffle(names)
    run_python(
        "import importlib, types, cutaway\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "parts = set(cutaway._PARTS)\n"
        "for name in cutaway.__all__:\n"
        "    is_module = isinstance(getattr(cutaway, name), types.ModuleType)\n"
        "    assert is_module == (name in parts), name\n"
        "for part in parts:\n"
        "    package = getattr(cutaway, part)\n"
        "    for name in getattr(package, '__all__', []):\n"
        "        assert not isinstance(getattr(package, name), types.ModuleType), (part, name)\n"
    )


def imports_of(path: Path) -> set[str]:
    """What a file imports when it is imported: not inside functions, not for type checking."""
    found: set[str] = set()

    def visit(nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
            elif (isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test)) or isinstance(
                node, ast.Try
            ):
                visit(node.body)

    visit(ast.parse(path.read_text(encoding="utf-8")).body)
    return found


ALLOWED = {
    "blocks": {"blocks", "taps"},
    "models": {"blocks", "models", "taps"},
    "hub": {"blocks", "models", "hub", "data", "atomic", "taps"},
    "data": {"lazy", "data", "atomic", "extras"},
    "training": {"lazy", "blocks", "models", "data", "training", "taps", "tracing", "naming", "atomic"},
    "look": {"lazy", "look", "taps", "tracing", "watching", "kept", "naming", "atomic", "extras"},
    "recipes": {
        *("lazy", "blocks", "models", "hub", "data", "training", "look", "recipes"),
        *("taps", "tracing", "kept", "naming", "registry", "atomic", "extras"),
    },
}


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_point_one_way(part: str):
    for path in (ROOT / part).rglob("*.py"):
        own = {name.split(".")[1] for name in imports_of(path) if name.startswith("cutaway.")}
        assert own <= ALLOWED[part], f"{path.relative_to(ROOT)} imports {own - ALLOWED[part]}"


def test_blocks_import_only_torch_and_shapes():
    allowed = {"torch", "einops", "jaxtyping", "cutaway"} | set(sys.stdlib_module_names)
    for path in (ROOT / "blocks").glob("*.py"):
        others = {name.split(".")[0] for name in imports_of(path)} - allowed
        assert not others, f"{path.name} imports {others}"


def test_every_lazy_name_has_a_type():
    """`__init__.pyi` lists the lazy names, for editors and mypy."""
    for package in [ROOT, ROOT / "data", ROOT / "look", ROOT / "training"]:
        stub = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
        typed = {
            (alias.asname or alias.name)
            for node in stub.body
            if isinstance(node, ast.ImportFrom | ast.Import)
            for alias in node.names
        } | {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        module = ".".join(["cutaway", *package.relative_to(ROOT).parts])
        public = set(__import__(module, fromlist=["*"]).__all__)
        assert public <= typed, f"{module}: {public - typed} are not in __init__.pyi"
