"""Bars on standard error: when there is one, that it reaches its end, and what an end before that leaves."""

from __future__ import annotations

import inspect
import io
import signal
import sys
import threading
import types

import numpy as np
import pytest
import scanpy as sc
import tqdm

import skeltraj as st
from samples import cells
from skeltraj import _progress as progress
from skeltraj._progress import Progress, is_watched
from skeltraj.core._runtime.warn import warn

# Functions that never take long, and why.
SHORT = {
    "attach": "distances between parts",
    "cluster_trends": "as many curves as genes that change, no cells",
    "order": "one look at each cell",
    "prune": "at most 3,000 cells are looked at",
    "rank_genes_groups": "rewrites a stored table",
    "select_path": "one look at each cell",
    "survival": "a few Cox models of samples",
}


def fits(method, **options):
    return lambda adata: getattr(st.tl, method)(adata, progress=True, **options)


CALLS = {
    "ddrtree": fits("ddrtree", n_starts=1, prune=True, denoise=True),
    "ddrtree, several starts": fits("ddrtree", n_starts=2),
    "drtree": fits("drtree"),
    "mpme": fits("mpme", max_iter=50),
    "principal_graph": fits("principal_graph"),
    "principal_tree": fits("principal_tree", n_starts=1),
    "spl": fits("spl"),
    "association": lambda adata: st.tl.association(adata, layer="counts", progress=True),
    "association, split": lambda adata: st.tl.association(
        adata, layer="counts", split=2, prepare=lambda part: None, progress=True
    ),
    "association, columns": lambda adata: st.tl.association(adata, columns=["number"], progress=True),
    "association, condition": lambda adata: st.tl.association(
        adata, layer="counts", condition="half", progress=True
    ),
    "branch_test": lambda adata: st.tl.branch_test(adata, "F1", layer="counts", progress=True),
    "branch_test, places": lambda adata: st.tl.branch_test(
        adata, between=("T1", "T2"), layer="counts", progress=True
    ),
    "composition": lambda adata: st.tl.composition(adata, "half", n_permutations=19, progress=True),
    "direction": lambda adata: st.tl.direction(adata, score="number", n_permutations=19, progress=True),
    "ingest": lambda adata: st.tl.ingest(adata[::2].copy(), adata, batch_size=40, progress=True),
    "stability": lambda adata: st.tl.stability(adata, n_replicates=2, progress=True),
    "trends": lambda adata: st.tl.trends(adata, layer="counts", progress=True),
}  # fmt: skip


def takes_progress(name):
    return "progress" in inspect.signature(getattr(st.tl, name)).parameters


def test_every_function_shows_its_progress_or_never_takes_long():
    assert {name for name in st.tl.__all__ if not takes_progress(name)} == set(SHORT)
    assert {call.partition(",")[0] for call in CALLS} == set(st.tl.__all__) - set(SHORT)
    for name in sorted(set(st.tl.__all__) - set(SHORT)):
        assert inspect.signature(getattr(st.tl, name)).parameters["progress"].default is None
        assert "progress\n    Show a progress bar on standard error. None: after" in inspect.getdoc(
            getattr(st.tl, name)
        )


class Recorder:
    """Stands for a bar of tqdm; keeps what was drawn."""

    bars: list[Recorder]

    def __init__(self, *, initial, total, desc, unit, bar_format, dynamic_ncols, leave):
        self.n, self.total, self.desc, self.unit, self.leave = initial, total, desc, unit, leave
        self.drawn, self.ncols = [], 80
        self.bars.append(self)
        self.refresh()

    def refresh(self, nolock=True):
        self.drawn.append((self.desc, self.n, self.total, self.unit))

    def clear(self, nolock=True):
        self.drawn.append("cleared")

    def close(self):
        self.drawn.append("left" if self.leave else "wiped")

    @staticmethod
    def get_lock():
        return Progress("")._lock


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setattr(Recorder, "bars", [], raising=False)
    monkeypatch.setattr("tqdm.tqdm", Recorder)
    return Recorder.bars


@pytest.fixture(scope="module")
def learned():
    """Ordered cells with counts; to be copied before anything is changed."""
    adata = cells(200)
    st.tl.principal_tree(adata, n_nodes=12, n_starts=1, key_added="ddrtree")
    st.tl.order(adata, 0)
    rng = np.random.default_rng(0)
    adata.layers["counts"] = rng.poisson(5, adata.shape).astype(float)
    adata.obs["number"] = adata.obs["ddrtree_pseudotime"] + rng.standard_normal(200)
    adata.obs["half"] = np.where(np.arange(200) % 2, "a", "b")
    return adata


@pytest.mark.filterwarnings("ignore")  # short fits do not converge, and tests of few genes have hints
@pytest.mark.parametrize("name", CALLS)
def test_the_bar_reaches_its_end_and_stays(name, learned, bars):
    adata = learned.copy()
    CALLS[name](adata)
    [bar] = bars
    assert bar.drawn[-1] == "left"
    desc, n, total, text = bar.drawn[-2]
    assert desc.replace(" ", "_").startswith(name.partition(",")[0])
    if total is None:  # a fit
        stored = adata.uns[name.partition(",")[0]]
        assert f"round {stored['n_iter']}, objective {stored['objective'][-1]:.6g}" in text
    else:
        assert n == total > 0
        assert text.startswith(f"{total:,} of {total:,} ")


class Stream(io.StringIO):
    """Standard error, in a terminal or not."""

    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


@pytest.fixture
def terminal(monkeypatch):
    """A function that begins a terminal, or something else, and returns what is written there."""

    def begin(is_terminal=True):
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "stderr", Stream(is_terminal))
        return sys.stderr

    return begin


@pytest.fixture
def at_once(monkeypatch):
    """Work is long from the beginning, and everything is drawn."""
    monkeypatch.setattr(progress, "_SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)


def work(show=None, n=3):
    with Progress("work", show) as shown:
        for done in range(1, n + 1):
            shown.replicates(done, n)


def test_in_a_terminal_long_work_has_a_bar_and_short_work_none(adata, monkeypatch, terminal):
    said = terminal()
    monkeypatch.setattr(progress, "_SECONDS_BEFORE", 600.0)  # however slow the machine is
    work()
    st.tl.ddrtree(adata)
    assert said.getvalue() == ""
    monkeypatch.setattr(progress, "_SECONDS_BEFORE", 0.0)
    work()
    first, *_, last = said.getvalue().removesuffix("\n").split("\r")
    assert first == ""
    assert last.startswith("work: 100%|")
    assert last.endswith("| 3 of 3 replicates, 0 s")
    st.tl.ddrtree(adata)
    assert "10 of 10 trees" in said.getvalue()  # five starts, the last fit, and four parts of the cells, which agree


@pytest.mark.usefixtures("at_once")
def test_in_a_pipe_there_is_none_unless_asked_for(terminal):
    said = terminal(False)
    work()
    assert said.getvalue() == ""
    work(show=True)
    assert "3 of 3 replicates" in said.getvalue()


@pytest.mark.usefixtures("at_once")
def test_none_where_nobody_wants_it(monkeypatch, terminal):
    said = terminal()
    verbosity = sc.settings.verbosity
    try:
        sc.settings.verbosity = 0
        work()
    finally:
        sc.settings.verbosity = verbosity
    work(show=False)
    monkeypatch.setenv("CI", "true")
    work()
    assert said.getvalue() == ""
    monkeypatch.setenv("CI", "false")
    assert is_watched()
    monkeypatch.setitem(sys.modules, "scanpy", None)  # as before it is loaded
    assert is_watched()
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    assert not is_watched()


@pytest.mark.usefixtures("at_once")
def test_in_a_notebook(monkeypatch, terminal):
    said = terminal(False)
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    work()
    assert "3 of 3 replicates" in said.getvalue()
    shell.config = {"TerminalIPythonApp": {}}
    assert not is_watched()  # IPython itself, its output in a pipe
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert not is_watched()


@pytest.mark.usefixtures("at_once")
def test_an_end_before_the_end_leaves_nothing(terminal):
    said = terminal()

    def interrupted():
        with Progress("work") as shown:
            shown.replicates(1, 3)
            assert "1 of 3 replicates" in said.getvalue()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    *_, wiped, last = said.getvalue().split("\r")
    assert (wiped.strip(), last) == ("", "")


def clocks():
    return [thread for thread in threading.enumerate() if "clock" in thread.name]


def test_an_interrupt_at_the_beginning_leaves_no_clock(monkeypatch, terminal):
    start = progress.started

    def then_interrupted(thread):
        is_there = start(thread)
        signal.raise_signal(signal.SIGINT)
        return is_there

    terminal()
    monkeypatch.setattr(progress, "started", then_interrupted)
    with pytest.raises(KeyboardInterrupt), Progress("work"):
        pass
    assert not clocks()


@pytest.mark.usefixtures("at_once")
def test_an_interrupt_while_it_is_drawn_leaves_no_lock(monkeypatch, terminal):
    """Bars in other threads, those of other packages as well, would wait for it for ever."""
    usual, lock, free = tqdm.tqdm.refresh, threading.RLock(), []

    def interrupted(bar, *args, **kwargs):
        lock.acquire()  # as tqdm's own lock of two parts does, line by line
        signal.raise_signal(signal.SIGINT)
        lock.release()
        return usual(bar, *args, **kwargs)

    terminal()
    monkeypatch.setattr(tqdm.tqdm, "_lock", lock, raising=False)
    monkeypatch.setattr(tqdm.tqdm, "refresh", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work()
    other = threading.Thread(target=lambda: free.append(lock.acquire(blocking=False)))
    other.start()
    other.join()
    assert free == [True]
    assert not clocks()


@pytest.mark.usefixtures("at_once")
def test_a_warning_has_a_line_of_its_own(bars, terminal):
    terminal()
    with Progress("work") as shown:
        shown.replicates(1, 3)
        with pytest.warns(UserWarning, match="hear this"):
            warn("hear this")
        shown.replicates(3, 3)
    [bar] = bars
    at = bar.drawn.index("cleared")
    assert bar.drawn[at - 1][1] == 1
    assert bar.drawn[at + 1][1] == 3
    with pytest.warns(UserWarning, match="after it"):
        warn("after it")
    assert bar.drawn.count("cleared") == 1


def test_parts_of_the_work_and_what_is_not_counted(bars, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
    with Progress("test", True) as shown:
        shown.step("reading")
        for part in ("F1", "F2"):
            shown.stage(part)
            shown.responses(1000, 2000)
            shown.responses(2000, 2000)
        shown.step("writing")
    [bar] = bars
    said = [(desc, n, total, text.partition(", ")[0]) for desc, n, total, text in bar.drawn[:-1]]
    assert said == [
        ("test", 0, None, "reading"),
        ("test F1", 1000, 2000, "1,000 of 2,000 fits"),
        ("test F1", 2000, 2000, "2,000 of 2,000 fits"),
        ("test F2", 1000, 2000, "1,000 of 2,000 fits"),
        ("test F2", 2000, 2000, "2,000 of 2,000 fits"),
        ("test F2", 2000, None, "writing"),
        ("test F2", 2000, 2000, "2,000 of 2,000 fits"),  # what stays
    ]
    assert bar.drawn[1][3].endswith(" s left")
    assert not bar.drawn[2][3].endswith("left")


def test_it_says_that_the_first_call_compiles(bars, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
    with Progress("test", True) as shown:
        for compiles in (True, False):
            monkeypatch.setattr(progress, "is_compiling", lambda compiles=compiles: compiles)
            shown.step("reading")
            shown.trees(1, 9)
    [bar] = bars
    said = [text.partition(" s")[2] for *_, text in bar.drawn]
    compiling = ", compiling, which only the first call after an installation does"
    assert said[:3] == [compiling, compiling, ""]
    assert said[3].endswith(" s left")
    assert "compiling" not in "".join(said[3:])


def test_the_clock_goes_on_while_nothing_is_counted(bars, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_TICKS", 0.01)
    drawn = threading.Event()
    monkeypatch.setattr(Recorder, "refresh", lambda self, nolock=True: drawn.set())
    with Progress("test", True):
        assert drawn.wait(60)  # by itself
        [clock] = [thread for thread in threading.enumerate() if thread.name == "test, clock"]
    assert not clock.is_alive()


@pytest.mark.parametrize("given", ["yes", 3, ()])
def test_what_is_neither_true_nor_false(adata, given):
    with pytest.raises(TypeError, match=r"progress=.* is a (str|int|tuple); wanted True, False or None"):
        st.tl.ddrtree(adata, progress=given)
    assert not adata.uns


def test_a_report_shows_its_sections(learned, bars, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
    st.pl.report(learned.copy(), groupby="half", progress=True)
    [bar] = bars
    desc, n, total, text = bar.drawn[-2]
    assert (desc, n, bar.drawn[-1]) == ("report", total, "left")
    assert text.startswith(f"{total} of {total} sections")
    assert {state[1] for state in bar.drawn if isinstance(state, tuple)} >= {0, total // 2, total}
    assert inspect.signature(st.pl.report).parameters["progress"].default is None
