"""The digest of what a kernel is made of."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from skeltraj.core._runtime.kernel_code import digest_of

OF_ALL = """
import importlib, pkgutil
from skeltraj import core
from skeltraj.core._runtime.kernel_code import digest_of
for found in pkgutil.walk_packages(core.__path__, "skeltraj.core."):
    for name, value in vars(importlib.import_module(found.name)).items():
        if hasattr(value, "py_func"):
            print(found.name, name, digest_of(value))
"""


@pytest.mark.compiled("there would be no kernels")
def test_it_is_the_same_in_every_process():
    first, second = (
        subprocess.run(
            [sys.executable, "-c", OF_ALL], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout.splitlines()
        for seed in ("1", "2")
    )
    assert first == second
    assert len(first) > 100


def made(source, **values):
    exec(source, values)
    return digest_of(values["kernel"])


@pytest.mark.parametrize(
    ("source", "other"),
    [
        ("return x + A", "return x - A"),
        ("return x + 1", "return x + 2"),
        ("return x + 1", "return x + 1.0"),
        ("return x in {1, 2}", "return x in {1, 3}"),
        ("return math.sin(x)", "return math.cos(x)"),
        ("return [y + 1 for y in x]", "return [y + 2 for y in x]"),
    ],
)
def test_it_tells_code_apart(source, other):
    one, two = (f"import math\ndef kernel(x):\n    {text}" for text in (source, other))
    assert made(one, A=1) == made(f"\n\n{one}", A=1)
    assert made(one, A=1) != made(two, A=1)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (1, 2),
        (0.0, -0.0),
        (1, 1.0),
        ((1, 2), (1, 3)),
        (np.arange(3000), np.arange(3000) + (np.arange(3000) == 1500)),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (int, float),
        (np, os),
        (abs, max),
    ],
)
def test_it_tells_what_is_named_apart(value, other):
    source = "def kernel(x, y=None):\n    return x + A"
    assert made(source, A=value) == made(source, A=value, B=3)
    assert made(source, A=value) != made(source, A=other)
    defaults = [f"def kernel(x, y={text}):\n    return x" for text in ("1", "2")]
    assert made(defaults[0]) != made(defaults[1])


@pytest.mark.compiled("there would be no kernels")
def test_it_tells_options_apart():
    assert digest_of(njit(twice)) == digest_of(njit(twice))
    assert digest_of(njit(twice)) != digest_of(njit(fastmath=True)(twice))


def twice(x):
    return x + x
