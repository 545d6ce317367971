"""Threads: any number gives the same, none nested, interrupts come out."""

from __future__ import annotations

import ast
import inspect
import multiprocessing
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import skeltraj as st
from samples import cells, forked
from skeltraj import core
from skeltraj.core._data import rows
from skeltraj.core._runtime import threads
from stored import same


@pytest.mark.parametrize("n_nodes", [40, "all"])
def test_the_number_of_threads_does_not_matter_to_the_last_bit(n_nodes, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_ENTRIES", 1 << 10)  # many blocks
    X = forked(1500, 6)[0]
    fits = []
    for n in (1, 2, 7):
        monkeypatch.setattr(threads, "n_threads", lambda n=n: n)
        fits.append(core.ddrtree(X, n_nodes=n_nodes, max_iter=5, tol=0))
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.embedding, fits[0].embedding)
        np.testing.assert_array_equal(fit.objective, fits[0].objective)


def test_where_threads_cannot_start_it_runs_in_one(monkeypatch):
    X = forked(500)[0]
    wanted = core.ddrtree(X)

    class NoThreads(threads.ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", NoThreads)
    np.testing.assert_array_equal(core.ddrtree(X).embedding, wanted.embedding)


def _fit(X, queue):
    queue.put(core.ddrtree(X).embedding)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gives_the_same_fit():
    X = forked(500)[0]
    wanted = core.ddrtree(X).embedding
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_fit, args=(X, queue))
    process.start()
    np.testing.assert_array_equal(queue.get(), wanted)
    process.join()
    assert process.exitcode == 0


def test_a_call_within_a_call_does_its_items_one_after_another(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)

    def inner(i):
        return threading.get_ident()

    outer = threads.ordered_map(lambda i: (threading.get_ident(), threads.ordered_map(inner, range(5))), range(6))
    assert all(set(within) == {own} for own, within in outer)
    assert threading.get_ident() not in {own for own, _ in outer}


def test_an_interrupt_that_meets_compiled_code_comes_out_as_one():
    @threads.computing()
    def work(cause):
        try:
            try:
                raise cause
            except BaseException as error:
                raise SystemError("inner") from error
        except SystemError as error:
            raise SystemError("a compiled function returned a result with an exception set") from error

    with pytest.raises(KeyboardInterrupt):
        work(KeyboardInterrupt())
    with pytest.raises(SystemError, match="a compiled function"):
        work(ValueError())


LINE = core.Graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])


@pytest.mark.parametrize(
    "call",
    [
        lambda adata: st.tl.order(adata, root=0),
        lambda adata: st.tl.prune(adata),
        lambda adata: st.tl.select_path(adata, "T1", "T2"),
        lambda adata: core.locate(LINE, np.zeros((3, 2))),
        lambda adata: core.order(LINE, np.zeros((3, 2)), root=0),
    ],
    ids=["tl.order", "tl.prune", "tl.select_path", "core.locate", "core.order"],
)
def test_public_calls_that_enter_compiled_code_end_with_the_interrupt(call, monkeypatch):
    adata = cells(150)
    st.tl.ddrtree(adata)
    st.tl.order(adata, root=0)
    before = adata.copy()

    def interrupted(*arrays):
        raise SystemError("a compiled function returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("skeltraj.core._graph.position._nearest_on_edges", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call(adata)
    same(adata, before)


def test_every_function_of_tl_is_interruptible():
    for name in st.tl.__all__:
        function = next(
            node
            for node in ast.parse(Path(inspect.getsourcefile(inspect.unwrap(getattr(st.tl, name)))).read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        )
        assert "interruptible()" in [ast.unparse(decorator) for decorator in function.decorator_list], name
