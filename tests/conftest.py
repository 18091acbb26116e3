"""Shapes and types in signatures are checked while testing, unless CUTAWAY_TYPECHECK=0 (compilers need that)."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

TYPED = os.environ.get("CUTAWAY_TYPECHECK", "1") != "0"
if TYPED:
    from jaxtyping import install_import_hook

    install_import_hook("cutaway", "typechecker.check")

import hypothesis
import torch
from other_kernels import NUMERIC

from cutaway import waiting

# On a loaded machine all takes long: that is told in the tests of it alone.
waiting.FIRST = 3600.0

# Machines differ in speed, and a loaded one is slow: no example has a deadline.
hypothesis.settings.register_profile("cutaway", deadline=None)
hypothesis.settings.load_profile("cutaway")

# A shell that starts a process in the background has it ignore Ctrl-C; the tests of interrupts need it heard.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Token caches of tests go away with them.
_cache = tempfile.TemporaryDirectory()
os.environ["CUTAWAY_CACHE"] = _cache.name

pytest_plugins = ["pytester", "minutes", "trained"]

HERE = Path(__file__).parent

torch.set_num_threads(int(os.environ.get("CUTAWAY_TEST_THREADS", "2")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of numbers are marked `kernels`. Those marked `untyped` wait for the second pass, without type checks."""
    for item in items:
        if item.path.is_relative_to(HERE) and str(item.path.relative_to(HERE).as_posix()).startswith(NUMERIC):
            item.add_marker("kernels")
    later = [item for item in items if TYPED and item.get_closest_marker("untyped")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if not item.get_closest_marker("untyped")]


@pytest.fixture(autouse=True)
def _fresh_random_state():
    torch.manual_seed(0)


@pytest.fixture
def float64():
    """Run a test with float64 as torch's default."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data and checkpoints; see DATA in CONTRIBUTING.md."""
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data folder; set CUTAWAY_DATA (looked in {folder})")
    return folder


def pytest_make_parametrize_id(val: object) -> str | None:
    """Functions and modules by their names: an address in a test's name would differ from process to process."""
    if isinstance(val, torch.nn.Module):
        return type(val).__name__
    name = getattr(val, "__name__", None)
    return name if callable(val) and isinstance(name, str) else None
