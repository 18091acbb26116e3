"""The renderer's limits are told before it meets them: it would end the process."""

import re
import subprocess
import sys

import pytest

from cutaway.look.pages.picture import Picture
from cutaway.look.pages.renderer import RendererError, renderer

CHART = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}}


@pytest.mark.parametrize("error", [RuntimeError("no room\n\nStack backtrace: ..."), ValueError("no room")])
def test_what_it_refuses_is_told_in_a_line(error: Exception):
    told = "a picture must be one that vl-convert can draw, got 'Loss' (no room); save it as .html"
    with pytest.raises(RendererError, match=f"^{re.escape(told)}"), renderer("Loss"):
        raise error


def test_a_panic_is_told_in_a_line():
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(RendererError, match=r"got 'Loss' \(PanicException\)"), renderer("Loss"):
        raise panic


def test_others_errors_pass():
    with pytest.raises(KeyboardInterrupt), renderer("Loss"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("scale", [1e6, float("inf")])
def test_an_image_must_fit_into_memory(scale: float):
    with pytest.raises(RendererError, match=r"at most 200,000,000 pixels, got .* for 'Bars'; lower its scale"):
        Picture(CHART, "Bars", "A bar.").to_png(scale)
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"></svg>'
    with pytest.raises(RendererError, match=r"at most 200,000,000 pixels, got .* for 'Square'"):
        Picture(svg, "Square", "A square.").to_png(scale)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_too_little_address_space_is_told():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "from cutaway.look.pages.page import vega_bundle\nvega_bundle('6.1')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "cutaway.look.pages.renderer.RendererError: the renderer of charts reserves 70 GiB of address space "
        "(not of memory), got a limit of 4 GiB; lift it by `ulimit -v unlimited`"
    )
