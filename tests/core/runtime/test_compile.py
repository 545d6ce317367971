"""Compiling where nothing can be cached, and what is used of what is cached."""

from __future__ import annotations

import errno
import importlib
import sys
import threading

import numba
import pytest
from numba.core import event

from skeltraj.core._runtime import compile
from skeltraj.core._runtime.compile import compiled, is_compiling


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


@pytest.mark.compiled("nothing would be compiled")
@pytest.mark.parametrize("helper", ["LIMIT = 1\n{}    return x + 9\n", "LIMIT = 9\n{}    return x + 1\n"])
def test_code_is_compiled_anew_where_another_file_that_it_was_made_of_has_changed(helper, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    start = "from skeltraj.core._runtime.compile import compiled\n"
    define = f"{start}@compiled\ndef helper(x):\n"
    caller = "from kept_helper import LIMIT, helper\n@compiled\ndef kernel(x):\n    return helper(x) * LIMIT\n"
    (tmp_path / "kept_caller.py").write_text(start + caller)

    def called(source):
        (tmp_path / "kept_helper.py").write_text(source.format(define))
        for name in ("kept_caller", "kept_helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        kernel = importlib.import_module("kept_caller").kernel
        return kernel(1), sum(kernel.stats.cache_hits.values())

    before = "LIMIT = 1\n{}    return x + 1\n"
    assert called(before) == (2, 0)
    assert called(before) == (2, 1)
    assert called(helper) == (10 if "x + 9" in helper else 18, 0)
    assert called(helper)[1] == 1


@pytest.mark.compiled("nothing would be compiled")
@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("left", [0, 20])
def test_damaged_files_are_made_anew(damaged, left, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled(plus_one)(1) == 2
    [path] = tmp_path.rglob(damaged)
    path.write_bytes(path.read_bytes()[:left])
    kernels = [compiled(plus_one), compiled(plus_one)]
    assert [kernel(1) for kernel in kernels] == [2, 2]
    assert [sum(kernel.stats.cache_hits.values()) for kernel in kernels] == [0, 1]


@pytest.mark.compiled("nothing would be compiled")
def test_files_that_may_not_be_read_are_told_of(monkeypatch, tmp_path):
    def of_another_user(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._load_index", of_another_user)
    monkeypatch.setattr(compile, "_warned", threading.Lock())
    kernel = compiled(plus_one)
    with pytest.warns(UserWarning, match=r"cannot be kept .*Permission denied.*NUMBA_CACHE_DIR"):
        assert kernel(1) == 2


def plus_one(x):
    return x + 1


def plus_two(x):
    return x + 2


@pytest.mark.compiled("nothing would be compiled")
def test_it_tells_that_a_kernel_is_being_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    told = []

    class Listener(event.Listener):
        def on_start(self, event):
            told.append(is_compiling())

        def on_end(self, event):
            pass

    kernel = compiled(plus_one)
    with event.install_listener("numba:compile", Listener()):
        assert kernel(1) == 2
        assert not is_compiling()
        assert kernel(2) == 3
        assert told == [True]
        with pytest.raises(numba.TypingError):
            compiled(plus_one)("a")
    assert len(told) > 1
    assert not is_compiling()
