"""A session acts only in the context that opened it: threads, tasks, generators."""

import asyncio
import contextvars
import threading

import pytest
import torch
from looking import assert_nothing_left, chain

import cutaway as cut


def in_thread(function, *args):
    """What the function gives, run in a thread of its own."""
    out = []
    thread = threading.Thread(target=lambda: out.append(function(*args)))
    thread.start()
    thread.join(30)
    return out[0]


def test_two_threads_on_one_model_give_their_solo_outputs():
    model, x, z = chain(), torch.randn(7, 3), torch.randn(7, 3)
    plain = model(x)
    with cut.patch(model, {"0": lambda value: -value}):
        patched = model(z)
    barrier = threading.Barrier(2, timeout=30)
    outputs = {"plain": [], "patched": []}
    seen_by = {}

    def run_plain() -> None:
        with cut.trace(model, "0") as seen:
            for _ in range(50):
                barrier.wait()
                outputs["plain"].append(model(x))
        seen_by["plain"] = seen.calls["0"]

    def run_patched() -> None:
        for _ in range(50):
            with cut.patch(model, {"0": lambda value: -value}):  # opened and closed while the other runs
                barrier.wait()
                outputs["patched"].append(model(z))

    threads = [threading.Thread(target=run_plain), threading.Thread(target=run_patched)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [len(outputs[name]) for name in ("plain", "patched")] == [50, 50]
    assert all(torch.equal(y, plain) for y in outputs["plain"])
    assert all(torch.equal(y, patched) for y in outputs["patched"])
    assert len(seen_by["plain"]) == 50
    assert all(torch.equal(h, model[0](x)) for h in seen_by["plain"])
    assert_nothing_left(model)


def test_hooks_that_come_and_go_never_break_another_threads_pass():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)
    finished = threading.Event()

    def come_and_go() -> int:
        count = 0
        while not finished.is_set():
            with cut.patch(model, {"**": 0.0, "*.input": 0.0}):
                model(x)
            count += 1
        return count

    counts = []
    thread = threading.Thread(target=lambda: counts.append(come_and_go()))
    thread.start()
    try:
        same = all(torch.equal(model(x), plain) for _ in range(500))
    finally:
        finished.set()
        thread.join(30)
    assert same
    assert counts[0] > 0


def test_a_hook_called_without_keywords_lets_the_value_pass():
    """The moment between torch's hanging a hook and its noting that the hook wants keywords, held still."""
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)
    with cut.patch(model, {"0.input": 0.0}):
        noted = dict(model[0]._forward_pre_hooks_with_kwargs)
        model[0]._forward_pre_hooks_with_kwargs.clear()
        assert torch.equal(in_thread(model, x), plain)
        model[0]._forward_pre_hooks_with_kwargs.update(noted)
        model(x)


def test_a_pass_in_another_thread_is_not_seen_and_the_error_says_so():
    model = chain()
    message = r"got none through '0' but in another thread, .*; run the model where the block was opened"
    with pytest.raises(ValueError, match=message), cut.trace(model, "0"):
        in_thread(model, torch.randn(7, 3))
    with pytest.raises(ValueError, match=message), cut.patch(model, {"0": 0.0}):
        in_thread(model, torch.randn(7, 3))
    assert_nothing_left(model)


def test_a_thread_that_is_given_the_context_is_seen():
    model = chain()
    with cut.trace(model, "0") as seen:
        in_thread(contextvars.copy_context().run, model, torch.randn(7, 3))
    assert seen["0"].shape == (7, 5)


def test_backward_in_another_thread_fills_the_gradients():
    model = chain()
    with cut.trace(model, "0", gradients=True) as seen:
        loss = model(torch.randn(7, 3)).sum()
    in_thread(loss.backward)
    assert seen.gradient["0"].shape == (7, 5)


def test_tasks_see_only_their_own():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)

    async def patched(value: float) -> torch.Tensor:
        with cut.patch(model, {"1": value}), cut.trace(model, "1") as seen:
            await asyncio.sleep(0)
            y = model(x)
            await asyncio.sleep(0)
        assert torch.equal(seen["1"], torch.full((7, 5), value))
        return y

    async def untouched() -> torch.Tensor:
        await asyncio.sleep(0)
        return model(x)

    async def main():
        return await asyncio.gather(patched(1.0), untouched(), patched(2.0))

    one, none, two = asyncio.run(main())
    assert torch.equal(none, plain)
    assert torch.equal(one, model[2](torch.full((7, 5), 1.0)))
    assert torch.equal(two, model[2](torch.full((7, 5), 2.0)))
    assert_nothing_left(model)


def test_a_task_that_outlives_the_patch_it_was_born_in_runs_without_it():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)

    async def main():
        async def late() -> tuple[torch.Tensor, torch.Tensor]:
            early = model(x)
            await asyncio.sleep(0.01)
            return early, model(x)

        with cut.patch(model, {"1": 0.0}):
            task = asyncio.create_task(late())
            await asyncio.sleep(0)
        return await task

    early, late = asyncio.run(main())
    assert torch.equal(early, model[2](torch.zeros(7, 5)))
    assert torch.equal(late, plain)


def test_a_generator_closed_late():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)

    def patched():
        with cut.patch(model, {"1": 0.0}):
            yield model(x)
            yield model(x)

    generator = patched()
    next(generator)
    with cut.trace(model, "0") as seen:  # opened after the generator's patch, closed before it
        model(x)
    generator.close()
    assert len(seen) == 1
    assert torch.equal(model(x), plain)
    assert_nothing_left(model)


def test_a_session_closed_in_another_context_is_closed():
    model, x = chain(), torch.randn(7, 3)
    plain = model(x)
    patch = cut.patch(model, {"1": 0.0})
    patch.__enter__()
    model(x)
    in_thread(patch.__exit__, None, None, None)
    assert torch.equal(model(x), plain)
    with cut.trace(model, "1") as seen:
        model(x)
    assert torch.equal(seen["1"], torch.tanh(model[0](x)))
    assert_nothing_left(model)
