"""Threads: any number gives the same, none nested, interrupts come out."""

from __future__ import annotations

import ast
import inspect
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import skeltraj as st
from samples import cells, forked
from skeltraj import core
from skeltraj.core._data import rows
from skeltraj.core._runtime import threads
from stored import refused, same


@pytest.mark.compiled("takes minutes")
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


@pytest.mark.compiled("takes minutes")
def test_where_threads_cannot_start_it_runs_in_one(monkeypatch):
    X = forked(500)[0]
    wanted = core.ddrtree(X)

    def none(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", none)
    np.testing.assert_array_equal(core.ddrtree(X).embedding, wanted.embedding)


def _fit(X, queue):
    queue.put(core.ddrtree(X).embedding)


@pytest.mark.compiled("takes minutes")
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

    all_there = threading.Barrier(3)

    def outer(i):
        all_there.wait(60)
        return threading.get_ident(), threads.ordered_map(lambda j: threading.get_ident(), range(5))

    taken = threads.ordered_map(outer, range(3))
    assert all(set(within) == {own} for own, within in taken)
    assert len({own for own, _ in taken}) == 3
    assert threading.get_ident() in {own for own, _ in taken}


@pytest.mark.parametrize(("most", "at_once"), [(2, 2), (9, 4), (None, 4)])
def test_no_more_at_a_time_than_asked_for(most, at_once, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    together = threading.Barrier(at_once)

    def work(i):
        together.wait(60)  # each time that so many are there
        return i, threading.get_ident()

    done = threads.ordered_map(work, range(12), most=most)
    assert [i for i, _ in done] == list(range(12))
    assert len({ident for _, ident in done}) == at_once


def test_one_at_a_time_is_this_thread(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    assert set(threads.ordered_map(lambda i: threading.get_ident(), range(12), most=1)) == {threading.get_ident()}


def helping():
    return {thread.ident for thread in threading.enumerate() if thread.name == "skeltraj"}


def test_threads_that_help_last_as_long_as_the_computation(monkeypatch):
    """They are not started for each piece of work, and none outlives it, whatever happens."""
    monkeypatch.setattr(threads, "n_threads", lambda: 3)

    def together():
        all_there = threading.Barrier(3)
        threads.ordered_map(lambda i: all_there.wait(60), range(3))
        return helping()

    assert not together()
    with threads.computing():
        first = together()
        assert len(first) == 2
        with threads.computing():
            assert together() == first
        with pytest.raises(ZeroDivisionError):
            threads.ordered_map(lambda i: 1 / i, range(3))
        assert together() == first
        monkeypatch.setattr(threads, "n_threads", lambda: 2)
        assert threads.ordered_map(lambda i: i, range(40)) == list(range(40))
    assert not helping()
    with pytest.raises(ZeroDivisionError), threads.computing():
        threads.ordered_map(lambda i: 1 / i, range(3))
    assert not helping()


def test_an_interrupt_waits_for_the_threads_that_help(monkeypatch):
    """Wherever it meets the thread that waits: what they do is done when it comes out, and they can go on to help."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    main = threading.get_ident()
    with threads.computing():
        for _ in range(20):
            at_work, done = threading.Event(), []

            def work(i, at_work=at_work, done=done):
                if threading.get_ident() == main:
                    at_work.wait(60)  # so that there is something to wait for
                    return
                at_work.set()
                time.sleep(0.005)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.005)
                done.append(i)

            with pytest.raises(KeyboardInterrupt):
                threads.ordered_map(work, range(2))
            assert len(done) == 1
            assert threads.ordered_map(lambda i: 2 * i, range(9)) == list(range(0, 18, 2))
    assert not helping()


def test_an_interrupt_while_a_thread_is_started_leaves_none(monkeypatch):
    start = threads.started

    def then_interrupted(thread):
        is_there = start(thread)
        signal.raise_signal(signal.SIGINT)
        return is_there

    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    monkeypatch.setattr(threads, "started", then_interrupted)
    for within in (threads.computing, nullcontext):
        with pytest.raises(KeyboardInterrupt), within():
            threads.ordered_map(abs, range(9))
        assert not helping()


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


@pytest.mark.compiled("takes minutes")
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

    monkeypatch.setattr("skeltraj.core._graph.position._nearest", interrupted)
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


def test_fewer_threads_than_wanted_do_all_and_nothing_twice(monkeypatch):
    start, done = threading.Thread.start, []

    def two_start(thread):
        if len(begun) == 2:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    begun = []
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", two_start)
    assert threads.ordered_map(lambda i: done.append(i) or 2 * i, range(50)) == [2 * i for i in range(50)]
    assert sorted(done) == list(range(50))
    assert len(begun) == 2
    assert not any(thread.is_alive() for thread in begun)


def test_other_errors_of_starting_a_thread_come_out(monkeypatch):
    def broken(thread):
        raise RuntimeError("threads can only be started once")

    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", broken)
    with pytest.raises(RuntimeError, match="only be started once"):
        threads.ordered_map(abs, range(3))


def test_the_error_of_an_item_comes_out_and_the_rest_is_left(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    stop, done = threading.Event(), []

    def work(i):
        if i == 1:
            raise MemoryError("no room")
        assert stop.wait(60)
        done.append(i)

    with pytest.raises(MemoryError, match="no room"):
        threads.ordered_map(work, range(30), stop=stop)
    assert done == [0]


@pytest.mark.parametrize("wanted", ["abc", "0", "-1", "1.5", "²", "2 threads"])
def test_a_wrong_number_of_threads_is_named(wanted, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", wanted)
    adata = cells(60)
    message = f"the environment variable NUMBA_NUM_THREADS is '{wanted}'; wanted a number of threads, from 1 up"
    refused(adata, ValueError, re.escape(message), lambda: st.tl.ddrtree(adata))
    with pytest.raises(ValueError, match=re.escape(message)):
        core.ddrtree(adata.X)


def test_the_number_of_threads_is_that_of_the_environment(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    for wanted, number in (("1", 1), (" 3 ", 3), ("70", 5), ("", 5)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", wanted)
        assert threads.n_threads() == number
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    assert threads.n_threads() == 5


def blas():
    from threadpoolctl import threadpool_info

    return [part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"]


@pytest.fixture
def two_for_blas():
    from threadpoolctl import threadpool_limits

    before = threadpool_limits(2, user_api="blas")
    threads._release_blas()
    yield
    before.restore_original_limits()
    threads._release_blas()


@pytest.mark.usefixtures("two_for_blas")
def test_of_several_computations_at_once_the_last_gives_back_what_blas_was_allowed():
    begun, ended = threading.Event(), threading.Event()

    def longer():
        with threads.computing():
            begun.set()
            ended.wait(60)
            seen.append(blas())

    seen, allowed = [], blas()
    with threads.computing():
        assert set(blas()) == {1}
        other = threading.Thread(target=longer)
        other.start()
        assert begun.wait(60)
        with pytest.raises(ValueError), threads.computing():
            raise ValueError
        assert set(blas()) == {1}
    assert set(blas()) == {1}  # the other goes on
    ended.set()
    other.join()
    assert set(seen[0]) == {1}
    assert blas() == allowed


@pytest.mark.usefixtures("two_for_blas")
@pytest.mark.parametrize("at", ["beginning", "end"])
def test_an_interrupt_at_either_end_gives_back_what_blas_was_allowed(at, monkeypatch):
    release, allowed = threads._release_blas, blas()

    def interrupted():
        if at == ("end" if begun else "beginning"):
            signal.raise_signal(signal.SIGINT)
        release()

    begun = []
    monkeypatch.setattr(threads, "_release_blas", interrupted)
    with pytest.raises(KeyboardInterrupt), threads.computing():
        begun.append(1)
    assert bool(begun) == (at == "end")
    assert threads._computing.number == 0
    assert not hasattr(threads._here, "depth") or threads._here.depth == 0
    assert blas() == allowed
    monkeypatch.undo()
    with threads.computing():
        assert set(blas()) == {1}
    assert blas() == allowed


@pytest.mark.compiled("takes minutes")
def test_several_threads_at_once_give_what_one_gives():
    def fitted(seed):
        adata = cells(120, seed=seed)
        st.tl.ddrtree(adata, n_starts=1)
        st.tl.order(adata, root={"stage": "stem"})
        return adata

    def work(seed):
        results[seed] = fitted(seed)

    results, seeds = {}, range(4)
    at_once = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in at_once:
        thread.start()
    for thread in at_once:
        thread.join()
    for seed in seeds:
        same(results[seed], fitted(seed))


@pytest.mark.compiled("takes minutes")
def test_a_process_forked_within_a_computation_may_compute():
    number = threads._computing.number
    with threads.computing():
        other = threading.Event()
        held = threading.Thread(target=lambda: threads._computing.lock.acquire() and other.set())
        held.start()
        held.join()  # another thread is about to begin or to end one
        old = threads._computing.lock
        threads._begin_after_a_fork()
        old.release()
        assert threads._computing.number == 1  # that of the thread that forked
        with threads.computing():
            pass
    assert threads._computing.number == number == 0


START = """
import multiprocessing, sys
import numpy as np
from skeltraj import core

def fitted():
    rng = np.random.default_rng(0)
    X = np.arange(400)[:, None] * np.array([0.01, 0.02, 0.005]) + 0.1 * rng.standard_normal((400, 3))
    import dask.array as da
    return [core.ddrtree(Y, n_nodes=15, max_iter=4).nodes for Y in (X, da.from_array(X, chunks=(100, 3)))]

def told(queue):
    queue.put(fitted())

if __name__ == "__main__":
    wanted = fitted()  # threads of this process, and of dask, are used before
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.SimpleQueue()
    process = context.Process(target=told, args=(queue,))
    process.start()
    for got, want in zip(queue.get(), wanted):
        np.testing.assert_array_equal(got, want)
    process.join()
    print("equal", process.exitcode)
"""


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_however_started_give_what_this_one_gives(method, tmp_path):
    pytest.importorskip("dask", reason="dask is not installed (pip install 'skeltraj[dask]')")
    script = tmp_path / "script.py"
    script.write_text(START)
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    # a fork that waits for ever is to fail, not to hang the tests
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), method],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert ended.stdout == "equal 0\n", ended.stderr
