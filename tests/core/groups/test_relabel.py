"""The number of relabelings; every one is drawn equally often; threads change nothing."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations
from threading import Event

import numpy as np
import pytest
from scipy.stats import chisquare

from skeltraj.core._groups.relabel import n_distinct, over_relabelings, relabelings, sums_of_drawn


def test_number_of_relabelings():
    assert n_distinct(np.array([[3, 3]])) == (20, True)
    assert n_distinct(np.array([[3, 2, 1]])) == (60, False)
    assert n_distinct(np.array([[1, 1], [2, 2], [5, 0]])) == (12, True)
    assert n_distinct(np.array([[1, 1], [2, 1]])) == (6, False)
    assert n_distinct(np.array([[5000, 5000]]))[0] == np.inf


LABELS, STRATUM = np.array([0, 1, 2, 0, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1, 1])
WAYS = {(*a, *b) for a in set(permutations((0, 1, 2))) for b in set(permutations((0, 0, 1, 2)))}


@pytest.mark.parametrize("way", ["one after another", "several at a time"])
def test_every_relabeling_within_strata_is_drawn_equally_often(way):
    n, rng = 20_000, np.random.default_rng(0)
    if way == "one after another":
        blocks = list(relabelings(LABELS, STRATUM, n, rng))
    else:
        blocks = over_relabelings(np.copy, LABELS, STRATUM, n, rng)
    rows, times = np.unique(np.concatenate(blocks), axis=0, return_counts=True)
    assert {tuple(row) for row in rows.tolist()} == WAYS
    assert times.sum() == n
    assert chisquare(times).pvalue > 1e-3


@pytest.mark.parametrize("label", [0, 1])
def test_drawn_values_are_those_of_permuted_labels(label):
    values, labels = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), np.array([0, 1, 0, 0, 0, 1, 0])
    n = 20_000
    sums = sums_of_drawn(values, STRATUM, labels == label, n, np.random.default_rng(1), Event())
    every = [
        values[row == label].sum()
        for row in np.concatenate(list(relabelings(labels, STRATUM, 500, rng=np.random.default_rng(2))))
    ]
    drawn, times = np.unique(sums, return_counts=True)
    assert set(drawn) == set(every)
    assert len(drawn) == 3 * 4
    assert chisquare(times).pvalue > 1e-3


def test_threads_change_nothing(monkeypatch):
    drawn = []
    for n_threads in ("1", "4"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", n_threads)
        drawn.append(np.concatenate(over_relabelings(np.copy, LABELS, STRATUM, 100, np.random.default_rng(3))))
    np.testing.assert_array_equal(*drawn)


def test_nothing_is_drawn_once_stopped():
    stop = Event()
    stop.set()
    sums_of_drawn(np.zeros(7), STRATUM, LABELS == 0, 5, rng := np.random.default_rng(4), stop)
    assert rng.random() == np.random.default_rng(4).random()


# Numba asks a generator for `ctypes` each time that a kernel takes it; what fails there could end the process.
INTERRUPTED = """
import signal, sys, threading
import numpy as np
from skeltraj.core._groups.relabel import relabelings, sums_of_drawn

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupted(np.random.PCG64):
    @property
    def ctypes(self):
        signal.raise_signal(signal.SIGINT)
        return super().ctypes

rng, stratum = np.random.Generator(Interrupted(0)), np.zeros(6, dtype=int)
try:
    if sys.argv[1] == "shuffled":
        list(relabelings(np.arange(6), stratum, 4, rng))
    else:
        sums_of_drawn(np.arange(6.0), stratum, np.arange(6) < 2, 4, rng, threading.Event())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.compiled("without compilation nobody asks for it")
@pytest.mark.parametrize("how", ["shuffled", "drawn"])
def test_an_interrupt_while_a_kernel_takes_its_generator(how):
    process = subprocess.run([sys.executable, "-c", INTERRUPTED, how], capture_output=True, text=True)
    assert process.stdout == "interrupted\n", process.stderr
    assert process.returncode == 0
