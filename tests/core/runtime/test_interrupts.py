"""Interrupts wait where they must, and have their usual effect afterwards."""

from __future__ import annotations

import signal
import threading

import pytest

from skeltraj.core._runtime.interrupts import interrupts_later


def test_an_interrupt_comes_after_the_steps_that_belong_together():
    def steps():
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
            done.append(1)
        done.append(2)

    usual, done = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is usual


def test_it_also_comes_where_a_step_fails():
    @interrupts_later()
    def steps():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("a step")

    with pytest.raises(KeyboardInterrupt) as error:
        steps()
    assert isinstance(error.value.__context__, ValueError)


def test_within_one_another_the_outermost_rules():
    @interrupts_later()
    def steps():
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
        done.append(1)

    done = []
    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == [1]


def test_what_the_user_made_of_interrupts_is_kept():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
            assert not seen
        assert seen == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_get_none_and_set_nothing():
    def work():
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
