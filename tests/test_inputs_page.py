"""The page that says which matrices functions take: every cell of its tables is tried."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path

import anndata as ad
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import sparse

import core_calls
from annotated import CALLS, FITS, ROOMS, call, studied_cells
from samples import cells
from skeltraj import core, estimators, tl

da = pytest.importorskip("dask.array")

PAGE = Path(__file__).resolve().parents[1] / "docs/api/inputs.md"
if not PAGE.exists():
    pytest.skip("the pages are not part of the package", allow_module_level=True)
TEXT = PAGE.read_text(encoding="utf-8")
KINDS = ("dense", "CSR", "CSC", "dask", "on disk")
NAME = r"\{(?:func|class)\}`([\w.]+)\s<skeltraj\.\1>`"
ROW = rf"^\| {NAME} \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$"
ROWS = {(row[0], row[1].strip()): [cell.strip() for cell in row[2:]] for row in re.findall(ROW, TEXT, re.MULTILINE)}
CELLS = [(*row, kind, said) for row, cells in ROWS.items() for kind, said in zip(KINDS, cells, strict=True)]
STORED = [name for name in CALLS if name not in {row[0] for row in ROWS} and name != "pl.report"] + ["tl.order"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # of few cells, of loops, of genes that a tree was learned from
    pytest.mark.compiled("many calls"),
]


def test_the_page_names_every_function():
    public = {f"{room}.{name}": getattr(module, name) for room, module in ROOMS.items() for name in module.__all__}
    public |= {f"core.{name}": getattr(core, name) for name in core.__all__}
    functions = {name for name, value in public.items() if inspect.isfunction(value)}
    functions |= {f"estimators.{name}" for name in estimators.__all__}
    assert functions == set(re.findall(NAME, TEXT))


# ---- matrices


def of_kind(X, kind, folder):
    """A matrix in each form that a kind stands for; those on disk by themselves and in an AnnData."""
    X = np.asarray(X, dtype=float)
    lazy = da.from_array(X, chunks=(25, -1))
    match kind:
        case "dense":
            return [X]
        case "CSR":
            return [sparse.csr_matrix(X), sparse.csr_array(X)]
        case "CSC":
            return [sparse.csc_matrix(X)]
        case "dask":
            return [lazy, lazy.map_blocks(sparse.csr_matrix)]
    return [_backed(ad.AnnData(form), folder).X for form in (X, sparse.csr_matrix(X))]


def _backed(adata, folder):
    path = folder / f"{len(list(folder.iterdir()))}.h5ad"
    adata.write_h5ad(path)
    return ad.read_h5ad(path, backed="r")


@pytest.fixture
def read_whole(monkeypatch):
    """Shapes of the sparse matrices on disk that were read as a whole."""
    shapes = []
    kind = type(_sparse_on_disk())
    to_memory = kind.to_memory
    monkeypatch.setattr(kind, "to_memory", lambda self: shapes.append(self.shape) or to_memory(self))
    return shapes


@functools.cache
def _sparse_on_disk():
    import h5py

    file = h5py.File("none", "w", driver="core", backing_store=False)
    ad.io.write_elem(file, "X", sparse.csr_matrix(np.eye(2)))
    return ad.io.sparse_dataset(file["X"])


def check(said, forms, do, whole):
    """A cell of a table: each form is taken, as a whole or not; or the error names it."""
    for form in forms:
        whole.clear()
        if said == "no":
            with pytest.raises((TypeError, ValueError), match=r"dask|disk|memory|sparse"):
                do(form)
            continue
        do(form)
        if type(form).__module__.startswith("anndata") and said != "sample":  # in a file, sparse
            assert (form.shape in whole) == (said == "whole"), f"'{said}', and it was{' not' * (not whole)} read whole"


def allowed(row, kind, forms):
    """Of dask arrays and files the sparse ones too, if sparse matrices are taken at all."""
    return forms if ROWS[row][1] != "no" or kind not in ("dask", "on disk") else forms[:1]


# ---- arrays

N = 60


@functools.cache
def fitted():
    return core.learn_tree(core_calls.rows(), n_components=2, n_nodes=8)


def _learn(part):
    return core_calls.tree(), core_calls.position()


def _core(name, argument):
    """A matrix, and a function of it that makes the call."""
    graph, points, assignment = core_calls.tree(), core_calls.on_tree(), core_calls.assignment()
    basis, position = core_calls.basis(), core_calls.position()
    X, Y = np.asarray(core_calls.rows()), core_calls.counts()
    few = dict(n_nodes=8)
    match name, argument:
        case ("learn_tree", _):
            return X, lambda X: core.learn_tree(X, n_components=2, **few)
        case ("ddrtree" | "principal_tree" | "principal_graph" as method, _):
            return X, lambda X: getattr(core, method)(X, **few)
        case ("drtree" | "mpme" | "spl" | "denoise" as method, _):
            return X, getattr(core, method)
        case ("stability", _):
            tree = fitted()
            return X, lambda X: core.stability(tree.graph, tree.embedding, X, tree.recipe, root=0, n_replicates=2)
        case ("association" | "trends" as test, _):
            return Y, lambda Y: getattr(core, test)(Y, basis, position, 0)
        case ("branch_test", _):
            return Y, lambda Y: core.branch_test(Y, basis, position, 0, 2)
        case ("condition_test", _):
            return Y, lambda Y: core.condition_test(Y, basis, position, np.arange(N) % 2)
        case ("contrast", _):
            return Y, lambda Y: core.contrast(Y, basis, position, 0, 4)
        case ("split_association", _):
            return Y, lambda Y: core.split_association(Y, basis, position, _learn, n_splits=1, n_knots=3)
        case ("thin_counts", _):
            return Y, lambda Y: core.thin_counts(Y, 0.1)
        case ("direction", _):
            nodes = graph.nodes
            return points, lambda P: core.direction(graph, position, vectors=P, node_places=nodes, n_permutations=9)
        case ("order", "`assignment`"):
            return assignment.toarray(), lambda R: core.order(graph, points, 0, R)
        case ("nodes_on" | "smooth_on" as drawn, "`assignment`"):
            return assignment.toarray(), lambda R: getattr(core, drawn)(graph, R, points)
        case ("nodes_on" | "smooth_on" as drawn, _):
            return points, lambda P: getattr(core, drawn)(graph, assignment, P)
        case ("prune", "`points`"):
            return points, lambda P: core.prune(graph, P, points)
        case ("prune", _):
            return points, lambda P: core.prune(graph, points, P)
        case ("locate", _):
            return points, lambda P: core.locate(graph, P)
        case ("order", _):
            return points, lambda P: core.order(graph, P, 0)
        case ("support", _):
            return points, lambda P: core.support(graph, P, [(graph, points)])
    raise LookupError(f"{name} {argument}: say how it is called")


@pytest.mark.parametrize(("name", "reads", "kind", "said"), [c for c in CELLS if c[0].startswith("core.")])
def test_core(name, reads, kind, said, tmp_path, read_whole):
    X, do = _core(name.removeprefix("core."), reads)
    check(said, allowed((name, reads), kind, of_kind(X, kind, tmp_path)), do, read_whole)


@pytest.mark.parametrize(("name", "reads", "kind", "said"), [c for c in CELLS if c[0].startswith("estimators.")])
def test_estimators(name, reads, kind, said, tmp_path, read_whole):
    estimator = getattr(estimators, name.removeprefix("estimators."))
    few = {name: 8 for name in inspect.signature(estimator).parameters if name == "n_nodes"}

    def do(X):
        made = estimator(**few).fit(X)
        if hasattr(made, "transform"):
            made.transform(X)

    check(said, of_kind(core_calls.rows(), kind, tmp_path), do, read_whole)


# ---- AnnData


@functools.cache
def _ordered():
    """Cells on an ordered tree that was learned from their counts, and the curves of their genes."""
    adata = cells(N, n_features=4)
    adata.X = np.round(3 * np.abs(adata.X))
    tl.ddrtree(adata, 3, n_nodes=10, n_starts=1, max_iter=6, prune=False)
    tl.order(adata, 0)
    tl.trends(adata)
    return adata


GENE = dict(color="gene0", show=False)
CALLED = {
    ("tl.order", 'with ``root={"gene": "max"}``'): dict(root={"gene0": "max"}),
    ("tl.direction", "with `score`, a gene"): dict(score="gene0", n_permutations=9),
    ("tl.direction", "with `velocity`, a layer"): dict(velocity="velocity", expression="X", n_permutations=9),
    ("tl.association", "with `split`"): dict(split=1, prepare=lambda part: part.X),
    ("tl.branch_test", "genes"): dict(between=("T1", "T2")),
    ("pl.graph", "`color`, a gene"): GENE,
    ("pl.graph_3d", "`color`, a gene"): dict(color="gene0"),
    ("pl.dendrogram", "`color`, a gene"): GENE,
    ("pl.trends", "genes that are drawn"): dict(genes="gene0", show=False),
}


@pytest.mark.parametrize(("name", "reads", "kind", "said"), [c for c in CELLS if c[0][:3] in ("tl.", "pl.")])
def test_annotated(name, reads, kind, said, tmp_path, read_whole):
    X = np.asarray(_ordered().X)

    def do(form):
        adata = _ordered().copy()
        if kind == "on disk":  # as in the file that was made of it, with results beside it
            adata.X = sparse.csr_matrix(X) if hasattr(form, "to_memory") else X
            adata.layers["velocity"] = X
            adata = _backed(adata, tmp_path)
        else:
            adata.X, adata.layers["velocity"] = form, form
        keys = set(adata.uns), set(adata.obsm), set(adata.varm), set(adata.obs)
        more = CALLED.get((name, reads), {})
        if name in FITS:
            more = CALLS[name] | dict(use_rep="X", key_added="new")
        elif name == "tl.ingest":
            adata.obs_names = [f"new {cell}" for cell in adata.obs_names]
            more = dict(adata_ref=_ordered())
        elif name == "tl.stability":
            more = CALLS[name]
        try:
            getattr(ROOMS[name[:2]], name[3:])(adata, **more)
        except (TypeError, ValueError):
            assert keys == (set(adata.uns), set(adata.obsm), set(adata.varm), set(adata.obs))
            raise
        finally:
            plt.close("all")

    check(said, of_kind(X, kind, tmp_path), do, read_whole)


@pytest.mark.parametrize("name", STORED)
def test_stored_results_are_read_without_a_matrix(name):
    adata = studied_cells()
    adata.X = None
    call(name, adata)
    plt.close("all")


@pytest.fixture(scope="module")
def backed(tmp_path_factory):
    """Cells with every result, in a file."""
    adata = studied_cells()
    adata.X = sparse.csr_matrix(adata.X)
    return _backed(adata, tmp_path_factory.mktemp("backed"))


@pytest.mark.parametrize("name", [name for name in STORED if not name.startswith("tl.")])
def test_stored_results_are_read_of_a_file(name, backed):
    call(name, backed)
    plt.close("all")


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith("tl.") and name != "tl.select_path"])
def test_what_is_in_a_file_is_not_copied(name, backed):
    with pytest.raises((TypeError, ValueError), match="to_memory"):
        call(name, backed, copy=True)
