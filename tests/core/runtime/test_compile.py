"""Compiling where nothing can be cached."""

from __future__ import annotations

import errno
import threading

import numba
import pytest

from skeltraj.core._runtime import compile
from skeltraj.core._runtime.compile import compiled


def test_without_a_place_for_the_cache_kernels_are_compiled_all_the_same(monkeypatch):
    asked = []

    def refuse(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available for file 'x'")
        return numba.njit(**options)

    monkeypatch.setattr("skeltraj.core._runtime.compile.njit", refuse)
    assert compiled(lambda x: x + 1)(1) == 2
    assert [options.get("cache", False) for options in asked] == [True, False]
    assert all(options["nogil"] for options in asked)


@pytest.mark.compiled("nothing would be compiled")
def test_with_a_full_disk_kernels_are_compiled_all_the_same_and_it_is_told_once(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    monkeypatch.setattr(compile, "_warned", threading.Lock())
    kernels = [compiled(function) for function in (plus_one, plus_two)]
    with pytest.warns(UserWarning, match=r"cannot be kept .*No space left.*NUMBA_CACHE_DIR") as caught:
        assert [kernel(1) for kernel in kernels] == [2, 3]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def plus_one(x):
    return x + 1


def plus_two(x):
    return x + 2
