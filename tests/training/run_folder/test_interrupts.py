"""Ctrl-C and a polite kill, held back until the step in hand is done."""

import os
import signal
import threading

import pytest

from cutaway.training.run_folder.interrupts import Stopped, StopSignals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_only_noted(number: int, capsys: pytest.CaptureFixture[str]):
    before = signal.getsignal(number)
    with StopSignals() as held:
        assert held.received is None
        os.kill(os.getpid(), number)
        assert held.received == number
    assert signal.getsignal(number) is before
    assert "stopping after this step (once more to stop at once)" in capsys.readouterr().err


def test_the_second_acts_at_once_and_puts_the_handlers_back():
    before = signal.getsignal(signal.SIGINT)
    held = StopSignals()

    def press_twice() -> None:
        with held:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert held.received == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before


def test_ignored_signals_stay_ignored():
    """A run under nohup, or in the background of a script, is not stopped by what its parent is sent."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopSignals() as held:
            os.kill(os.getpid(), signal.SIGINT)
        assert held.received is None
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_is_held_back():
    seen = []

    def work():
        with StopSignals():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_stopped_carries_the_exit_code():
    stop = Stopped("stopped after step 3", 143)
    assert (str(stop), stop.code, isinstance(stop, KeyboardInterrupt)) == ("stopped after step 3", 143, True)
