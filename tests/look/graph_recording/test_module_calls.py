"""The stack of running modules: kept by hooks that the passes of all threads reach, and touched by one of them."""

import threading
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.modules import module as torch_module

import cutaway as cut


def in_another_thread(run: Callable[[], object]) -> object:
    """What ``run`` gives in a thread of its own; its error is raised here."""
    found: list[object] = []

    def work() -> None:
        try:
            found.append(run())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


class OneThreadOnly(list):
    """A list that only the thread that made it may read."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = threading.get_ident()

    def _expect_owner(self) -> None:
        assert threading.get_ident() == self.owner, "read by another thread"

    def __len__(self) -> int:
        self._expect_owner()
        return super().__len__()

    def __iter__(self):
        self._expect_owner()
        return super().__iter__()

    def __getitem__(self, at):
        self._expect_owner()
        return super().__getitem__(at)


def test_the_passes_of_other_threads_leave_the_stack_alone():
    shared, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.randn(2, 3)
    recording = cut.record()

    class Outer(nn.Module):
        def forward(self, x):
            return shared(x) + in_another_thread(lambda: shared(x))

    with recording as g:
        recording._capture.modules._stack = OneThreadOnly()
        y = Outer()(x)
    assert torch.equal(y, 2 * shared(x))
    assert [node.name for node in g.nodes] == ["linear", "tanh", "unseen", "add"]
    assert g.modules["Outer.Sequential.0"].calls == 1


def test_a_hook_that_torch_calls_before_it_knows_of_the_keywords():
    """Torch adds a hook, and only then notes that it wants keywords; in between, another thread's pass calls it."""
    layer, x = nn.Linear(3, 3), torch.randn(2, 3)

    def as_torch_would() -> list[object]:
        return [hook(layer, (x,), x) for hook in torch_module._global_forward_hooks.values()]

    with cut.record() as g:
        layer(x)
        assert in_another_thread(as_torch_would) == [None]
        as_torch_would()  # the same thread: the layer is no longer running, so nothing happens
    assert [node.name for node in g.nodes] == ["linear"]
