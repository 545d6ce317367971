"""Compiling where nothing can be cached."""

from __future__ import annotations

import numba

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
