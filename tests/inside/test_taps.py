"""Taps: quiet by default; a read leaves the fused path, an edit or a gradient takes the written-out one."""

import copy
import threading

import pytest
import torch
from looking import FUSED, TELLING, WRITTEN_OUT, ThreeSum, assert_nothing_left

import cutaway as cut
from cutaway.inside.taps import Tap


def test_a_tap_is_the_identity():
    x = torch.randn(3)
    assert Tap()(x) is x


def test_a_quiet_tap_is_neither_live_nor_edited_and_is_not_called():
    block = ThreeSum()
    block.partial.forward = pytest.fail  # called with the value, if at all
    assert (block.partial.live, block.partial.edited) == (False, False)
    assert block(TELLING) == FUSED


def test_taps_add_nothing_to_the_state():
    block = ThreeSum()
    assert not block.state_dict()
    with cut.trace(block, "partial"):
        assert not block.state_dict()
        block(TELLING)


def test_a_read_keeps_the_fused_output_and_gives_the_hidden_value():
    block = ThreeSum()
    with cut.trace(block, "partial") as seen:
        assert (block.partial.live, block.partial.edited) == (True, False)
        assert (block.partial.readers, block.partial.editors) == (1, 0)
        assert block(TELLING) == FUSED
    assert seen["partial"] == 0.0
    assert_nothing_left(block)


def test_an_edit_takes_the_written_out_path():
    block = ThreeSum()
    with cut.patch(block, {"partial": lambda value: value}):
        assert (block.partial.readers, block.partial.editors) == (0, 1)
        assert block(TELLING) == WRITTEN_OUT
    with cut.patch(block, {"partial": 7.0}):
        assert block(TELLING) == 8.0
    assert block(TELLING) == FUSED
    assert_nothing_left(block)


def test_a_gradient_takes_the_written_out_path():
    block = ThreeSum()
    with cut.trace(block, "partial", gradients=True) as seen:
        assert (block.partial.readers, block.partial.editors) == (0, 1)
        y = block(TELLING.clone().requires_grad_())
    assert y == WRITTEN_OUT
    y.backward()
    assert seen.gradient["partial"] == 1.0


def test_a_read_beside_an_edit_sees_the_edited_value():
    block = ThreeSum()
    with cut.trace(block, "partial") as seen, cut.patch(block, {"partial": 7.0}):
        assert block(TELLING) == 8.0
    assert seen["partial"] == 7.0


@pytest.mark.parametrize("session", ["read", "edit", "gradient"])
def test_another_thread_keeps_the_fused_path_meanwhile(session):
    block = ThreeSum()
    mine = {
        "read": cut.trace(block, "partial"),
        "edit": cut.patch(block, {"partial": lambda value: value}),
        "gradient": cut.trace(block, "partial", gradients=True),
    }[session]
    opened, done = threading.Event(), threading.Event()
    other = []

    def run() -> None:
        opened.wait(10)
        other.extend([block(TELLING), block.partial.live, block.partial.edited])
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    with mine:
        opened.set()
        assert done.wait(10)
        here = block(TELLING)
    thread.join()
    assert other == [FUSED, False, False]
    assert here == (FUSED if session == "read" else WRITTEN_OUT)


def test_a_copy_made_while_somebody_looks_is_not_looked_at():
    block = ThreeSum()
    with cut.patch(block, {"partial": 7.0}):
        twin = copy.deepcopy(block)
        assert block(TELLING) == 8.0
        assert twin(TELLING) == FUSED
    assert (twin.partial.readers, twin.partial.editors) == (0, 0)
    with cut.trace(twin, "partial") as seen:
        twin(TELLING)
    assert seen["partial"] == 0.0


def test_a_tap_shows_whether_it_is_live():
    block = ThreeSum()
    assert repr(block.partial) == "Tap()"
    with cut.patch(block, {"partial": 7.0}):
        assert repr(block.partial) == "Tap(live)"
        block(TELLING)
