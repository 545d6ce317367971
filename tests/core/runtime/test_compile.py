"""Compiling where nothing can be cached."""

from __future__ import annotations

from skeltraj.core._runtime import compile as _compile


def test_without_a_place_for_the_cache_kernels_are_compiled_all_the_same(monkeypatch):
    real = _compile.njit

    def refuse(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available for file 'x'")
        return real(**options)

    monkeypatch.setattr(_compile, "njit", refuse)
    assert _compile.compiled(lambda x: x + 1)(1) == 2
