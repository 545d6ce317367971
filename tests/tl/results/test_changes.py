"""All that a function stores is stored, or nothing: whatever goes wrong meanwhile."""

from __future__ import annotations

import ast
import signal
from pathlib import Path

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import cells
from skeltraj.tl._results import changes
from skeltraj.tl._results.changes import Changes
from stored import same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of few rounds, loops, cells that lie far

# a fit is made anew for each change that may fail, three times over: small ones
METHODS = {
    "ddrtree": dict(n_starts=1, n_nodes=12),
    "drtree": {},
    "principal_tree": dict(n_starts=1, n_nodes=12),
    "principal_graph": dict(n_nodes=12),
    "mpme": {},
    "spl": {},
}


@pytest.fixture(scope="module", params=METHODS)
def again(request):
    """A fit with its order, and the same method under the same name."""
    adata = cells(60)
    fit = getattr(st.tl, request.param)
    fit(adata, **METHODS[request.param])
    st.tl.order(adata, root={"stage": "stem"}, key=request.param)
    return adata, lambda a: fit(a, use_rep="X", max_iter=3, **METHODS[request.param])


@pytest.fixture(scope="module")
def ordered():
    adata = cells(150)
    st.tl.ddrtree(adata)
    st.tl.order(adata, root={"stage": "stem"})
    st.tl.stability(adata, n_replicates=2)
    st.tl.composition(adata, "stage", n_permutations=19)
    return adata


def new_cells():
    adata = cells(150)[:50].copy()
    adata.X = adata.X + 1e-3
    return adata


VERBS = {
    "order": lambda a, reference: st.tl.order(a, root={"stage": "left"}),
    "prune": lambda a, reference: st.tl.prune(a, min_gain=0.2),
    "prune, undo": lambda a, reference: st.tl.prune(a, undo=True),
    "stability": lambda a, reference: st.tl.stability(a, n_replicates=2, rng=1),
    "composition": lambda a, reference: st.tl.composition(a, "stage", n_permutations=19, rng=1),
    "ingest": lambda a, reference: st.tl.ingest(a, reference),
}


class Broken(Exception):
    pass


def broken_at(monkeypatch, at, how, then=False):
    """Let the change number `at` fail, before or after it is made; returns a list with an entry for each change."""
    calls, usual = [], changes._set

    def failing(*change):
        calls.append(change[1:3])
        if len(calls) == at + 1 and not then:
            how()
        usual(*change)
        if len(calls) == at + 1 and then:
            how()

    monkeypatch.setattr(changes, "_set", failing)
    return calls


def error():
    raise Broken


def interrupt():
    raise KeyboardInterrupt


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def takes_all_or_nothing(adata, verb, monkeypatch):
    with monkeypatch.context() as m:
        n_changes = len(broken_at(m, -1, error)) or len(counted(adata, verb, m))
    assert n_changes > 0
    for at in range(n_changes):
        for how, then in ((error, False), (interrupt, True), (ctrl_c, True)):
            left = adata.copy()
            with monkeypatch.context() as m:
                broken_at(m, at, how, then)
                with pytest.raises(Broken if how is error else KeyboardInterrupt):
                    verb(left)
            same(left, adata)
            assert list(left.obs.columns) == list(adata.obs.columns)
    return n_changes


def counted(adata, verb, m):
    calls = broken_at(m, -1, error)
    verb(adata.copy())
    return calls


def test_a_fit_over_another_leaves_the_old_one_if_storing_fails(again, monkeypatch):
    adata, fit = again
    takes_all_or_nothing(adata, fit, monkeypatch)


@pytest.mark.parametrize("verb", VERBS)
def test_a_step_leaves_all_as_it_was_if_storing_fails(ordered, verb, monkeypatch):
    adata = new_cells() if verb == "ingest" else ordered
    if verb == "ingest":
        st.tl.ddrtree(adata)
        st.tl.order(adata, root={"stage": "stem"})
    takes_all_or_nothing(adata, lambda a: VERBS[verb](a, ordered), monkeypatch)


def test_a_grafted_branch_is_stored_whole_or_not_at_all(monkeypatch):
    adata = cells(150)
    st.tl.principal_tree(adata)
    fit = adata.uns["principal_tree"]
    adata.uns["arm"] = {name: fit[name] for name in ("params", "edges", "input")} | {"nodes": fit["nodes"] + 9.0}
    st.tl.order(adata, root=0, key="principal_tree")
    takes_all_or_nothing(adata, lambda a: st.tl.attach(a, branch="arm", key="principal_tree"), monkeypatch)


def test_ctrl_c_has_its_usual_effect_again_after_storing():
    usual = signal.getsignal(signal.SIGINT)
    adata = cells(30)
    plan = Changes()
    plan.put("obs", "number", np.arange(30))
    plan.make(adata)
    assert signal.getsignal(signal.SIGINT) is usual
    assert list(adata.obs["number"]) == list(range(30))


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Writing zarr v2 data")
def test_a_table_that_is_read_lazily_is_left_as_it_was(monkeypatch, tmp_path):
    pytest.importorskip("xarray", reason="anndata reads lazily with xarray")
    pytest.importorskip("zarr")
    if not hasattr(ad.experimental, "read_lazy"):
        pytest.skip("this anndata does not read lazily")
    cells(30).write_zarr(tmp_path / "a.zarr")
    lazy = ad.experimental.read_lazy(tmp_path / "a.zarr")
    columns, stage = set(lazy.obs.columns), np.asarray(lazy.obs["stage"])  # in any order, from run to run
    plan = Changes()
    plan.put("obs", "number", np.arange(30))
    plan.remove("obs", "stage")
    with monkeypatch.context() as m:
        broken_at(m, 1, ctrl_c, then=True)
        with pytest.raises(KeyboardInterrupt):
            plan.make(lazy)
    assert set(lazy.obs.columns) == columns
    np.testing.assert_array_equal(np.asarray(lazy.obs["stage"]), stage)
    plan.make(lazy)
    assert set(lazy.obs.columns) == columns - {"stage"} | {"number"}


def test_what_is_stored_replaces_what_is_removed():
    adata = cells(30)
    plan = Changes()
    plan.put("obs", "place", np.zeros(30))
    plan.remove("obs", "place", "stage", "nothing")
    plan.make(adata)
    assert list(adata.obs) == ["place"]
    assert not adata.obs["place"].any()


def test_nothing_else_in_tl_writes_into_an_anndata():
    slots = {"obs", "obsm", "obsp", "var", "varm", "varp", "uns", "layers", "X"}
    writes = set()
    for path in Path(st.tl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            targets = []
            if isinstance(node, ast.Assign | ast.Delete):
                targets = node.targets
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            for target in targets:
                while isinstance(target, ast.Subscript):
                    target = target.value
                if isinstance(target, ast.Attribute) and target.attr in slots:
                    writes.add((path.name, ast.unparse(node).splitlines()[0]))
    # the path that tl.select_path returns, and what tl.association gives to `prepare`, are AnnData of their own
    allowed = {("changes.py", "adata.obs = adata.obs[columns]"), ("changes.py", "adata.var = adata.var[genes]")}
    assert {(name, line) for name, line in writes if name not in ("_select_path.py", "preparation.py")} == allowed
