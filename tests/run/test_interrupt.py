"""A first signal is a wish, a second one an order."""

import os
import signal

import pytest

from tiedlm.run.interrupt import StopSignal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_is_noted_and_nothing_is_broken_off(number: signal.Signals) -> None:
    with StopSignal("tied seed 0") as stop:
        assert stop.received is None
        os.kill(os.getpid(), number)
        assert stop.received is number


def test_a_second_signal_acts_as_it_always_did() -> None:
    with pytest.raises(KeyboardInterrupt), StopSignal("tied seed 0") as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.received is signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("signals", [[], [signal.SIGINT]])
def test_after_the_block_the_handlers_are_those_from_before(signals: list[signal.Signals]) -> None:
    watched = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in watched]
    with StopSignal("tied seed 0"):
        assert all(signal.getsignal(number) not in before for number in watched)
        for number in signals:
            os.kill(os.getpid(), number)
    assert [signal.getsignal(number) for number in watched] == before


def test_an_error_in_the_block_gives_the_handlers_back_too() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError), StopSignal("tied seed 0"):
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_error_that_ends_a_run_names_it_the_place_and_the_signal() -> None:
    with StopSignal("tied seed 0") as stop:
        os.kill(os.getpid(), signal.SIGTERM)
    error = stop.interrupted("stopped after step 3, state saved")
    assert str(error) == "tied seed 0: stopped after step 3, state saved"
    assert (error.number, error.exit_code) == (signal.SIGTERM, 143)
