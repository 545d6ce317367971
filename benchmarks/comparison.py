"""The README's table of programs, and whether its cells are true of what is installed.

    python benchmarks/comparison.py                                 the table, as it stands in README.md
    python benchmarks/comparison.py --check --python PATH ...       run each claim that can be run

A claim of a program in Python is checked by calling it on 240 simulated cells on three arms: a function is there and
does what the cell says, or an argument is there, or what the cell denies is nowhere among the public names. Each
program is run by the first interpreter that can import it (this one, then those named by ``--python``). What is
written in R, and what cannot be asked of a program (its age), is taken from the source that ``SOURCES`` names, and has
a mark in the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TOOLS = {
    "skeltraj": "skeltraj",
    "monocle2": "Monocle 2",
    "monocle3": "Monocle 3",
    "scfates": "scFates",
    "paga": "PAGA",
    "slingshot": "Slingshot, tradeSeq",
    "palantir": "Palantir",
    "stavia": "StaVia",
}
MODULES = {
    "skeltraj": "skeltraj",
    "scfates": "scFates",
    "paga": "scanpy",
    "palantir": "palantir",
    "stavia": "pyVIA.core",
}
SOURCES = {
    "monocle2": "its sources and manual, 2.26, and R's DDRTree 0.1.5",
    "monocle3": "its sources and manual, 1.3",
    "slingshot": "the manuals of Slingshot 2 and tradeSeq 1.18 to 1.23",
    "scfates": "its sources, 1.2.5",
    "paga": "scanpy's documentation, 1.11",
    "palantir": "its sources, 1.4",
    "stavia": "the documentation of pyVIA 0.2",
    "skeltraj": "this repository",
}
FROM_SOURCE = "*"  # behind a cell that no check stands for

# Row, then a cell for each program in the order of TOOLS.
TABLE = [
    ("in", "Python", "R", "R", "Python; tests in R", "Python", "R", "Python", "Python"),
    (
        "skeleton",
        "tree, graph with loops, similarities",
        "tree",
        "tree, loops closed after",
        "tree, curve, ring",
        "graph of clusters",
        "curves over a tree of clusters",
        "none",
        "graph of clusters",
    ),
    ("any representation", "yes", "no", "UMAP", "yes", "yes", "yes", "yes", "yes"),
    ("without clusters", "yes", "yes", "no", "yes", "no", "one curve", "yes", "makes its own"),
    (
        "root by",
        "hand, group, score, velocity",
        "state",
        "hand",
        "hand, score",
        "hand",
        "cluster",
        "hand, group",
        "hand, group, velocity",
    ),
    ("branch of each cell", "yes", "yes", "no", "yes", "no", "yes", "masks", "no"),
    ("fates of a cell", "weights", "no", "no", "no", "no", "weights", "probabilities", "probabilities"),
    ("support of branches", "yes", "no", "no", "no", "no", "no", "no", "no"),
    ("new cells", "order, branch, unlike cells", "no", "labels, UMAP", "no", "no", "order", "no", "no"),
    ("genes along it", "counts", "counts", "Moran's I", "in R", "no", "counts", "curves", "curves"),
    ("genes between branches", "any arms", "two arms", "no", "in R", "no", "lineages", "no", "no"),
    ("conditions", "donors", "cells", "mixed models", "cells, in R", "no", "cells", "no", "no"),
    ("time to event", "yes", "no", "no", "no", "no", "no", "no", "no"),
    ("time points, space", "no", "no", "no", "no", "no", "no", "no", "yes"),
    ("on a GPU", "no", "no", "no", "yes", "no", "no", "no", "no"),
    ("larger than memory", "dask, files", "no", "files", "no", "no", "no", "no", "no"),
    ("results in h5ad", "yes", "no", "no", "yes", "yes", "no", "yes", "no"),
    ("published", "not yet", "2017", "2019", "2023", "2019", "2018, 2020", "2019", "2021, 2024"),
]
CHECKS = {}


@dataclass(frozen=True)
class Outcome:
    """Whether a claim holds: "true", "FALSE" with what went wrong, or "source" with where it was read."""

    tool: str
    row: str
    text: str
    kind: str
    detail: str = ""


def check(tool, *rows):
    """Register a check: called with the cells, it raises where the table's cell is not true."""

    def register(function):
        for row in rows:
            CHECKS[tool, row] = function
        return function

    return register


def table():
    """The table in Markdown; what no check stands for bears a mark: a program, a row, or a cell."""
    names = [name if tool in MODULES else name + FROM_SOURCE for tool, name in TOOLS.items()]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for row, *texts in TABLE:
        checked = [(tool, row) in CHECKS for tool in TOOLS]
        marked = [
            text if there or tool not in MODULES or not any(checked) else text + FROM_SOURCE
            for text, tool, there in zip(texts, TOOLS, checked, strict=True)
        ]
        lines.append("| " + " | ".join([row if any(checked) else row + FROM_SOURCE, *marked]) + " |")
    return "\n".join(lines)


# ---- what the checks are made of


def cells():
    """240 cells on three arms in ten dimensions, with groups, a score and neighbours."""
    import anndata as ad
    import numpy as np
    import scanpy as sc

    rng = np.random.default_rng(0)
    along = np.tile(np.linspace(0, 1, 80), 3)
    arm = np.repeat([0, 1, 2], 80)
    X = 4 * along[:, None] * np.eye(10)[arm] + rng.normal(0, 0.15, size=(240, 10))
    adata = ad.AnnData(X.astype("float32"))
    adata.obs_names = [f"cell{i}" for i in range(240)]
    adata.var_names = [f"gene{i}" for i in range(10)]
    adata.obs["group"] = [f"{'start' if a == 0 else 'fate'}{a}" for a in arm]
    adata.obs["group"] = adata.obs["group"].astype("category")
    adata.obs["score"] = np.where(arm == 0, along, -along)
    adata.layers["counts"] = rng.poisson(3 * np.clip(X, 0, None) + 1)
    sc.pp.pca(adata, n_comps=5)
    sc.pp.neighbors(adata, n_neighbors=10)
    return adata


def public(*modules):
    """Public functions and classes of some modules, in lower case."""
    return {name.lower() for module in modules for name in dir(module) if not name.startswith("_")}


def none_called(words, *modules):
    """No public name of the modules has one of the words in it."""
    found = sorted(name for name in public(*modules) if any(word in name for word in words))
    assert not found, found


def survives(adata):
    """What is stored can be written and read."""
    import anndata as ad

    with tempfile.TemporaryDirectory() as folder:
        adata.write_h5ad(Path(folder) / "cells.h5ad")
        return ad.read_h5ad(Path(folder) / "cells.h5ad")


# ---- skeltraj


def tree(adata):
    import skeltraj as st

    st.tl.ddrtree(adata, use_rep="X_pca", n_starts=1)
    st.tl.order(adata, root={"score": "max"})
    return st


@check("skeltraj", "in", "any representation", "without clusters", "branch of each cell", "fates of a cell")
def _(adata):
    adata.obsm["X_mine"] = adata.obsm["X_pca"][:, :3]
    del adata.obs["group"]
    import skeltraj as st

    st.tl.ddrtree(adata, use_rep="X_mine", n_starts=1)
    st.tl.order(adata, root=0)
    assert adata.obs["ddrtree_branch"].notna().all()
    assert adata.obsm["ddrtree_lineages"].to_numpy().max() > 0.9


@check("skeltraj", "skeleton")
def _(adata):
    import skeltraj as st

    tree(adata)
    st.tl.principal_graph(adata, use_rep="X_pca", n_nodes=20)
    st.tl.spl(adata, use_rep="X_pca")
    assert {"ddrtree", "principal_graph", "spl"} <= set(adata.uns)


@check("skeltraj", "root by")
def _(adata):
    import numpy as np

    st = tree(adata)
    st.tl.order(adata, root={"group": "start0"})
    adata.layers["velocity"] = np.random.default_rng(0).normal(size=adata.shape)
    st.tl.direction(adata, "velocity", n_permutations=19)
    assert len(st.get.direction(adata).roots)


@check("skeltraj", "support of branches")
def _(adata):
    st = tree(adata)
    st.tl.stability(adata, n_replicates=2, progress=False)
    assert st.get.stability(adata).branches["support"].between(0, 1).all()


@check("skeltraj", "new cells")
def _(adata):
    new = adata[::2].copy()
    reference = adata[1::2].copy()
    st = tree(reference)
    st.tl.ingest(new, reference, use_rep="X_pca")
    assert {"ddrtree_pseudotime", "ddrtree_branch", "ddrtree_far"} <= set(new.obs)


@check("skeltraj", "genes along it", "genes between branches")
def _(adata):
    st = tree(adata)
    st.tl.association(adata, layer="counts")
    st.tl.branch_test(adata, layer="counts")
    assert adata.uns["ddrtree"]["association"]["family"] == "negative_binomial"
    assert len(st.get.branch_test(adata, "F1")) == adata.n_vars


@check("skeltraj", "conditions")
def _(adata):
    st = tree(adata)
    adata.obs["donor"] = [f"D{i % 6}" for i in range(adata.n_obs)]
    adata.obs["condition"] = [f"C{i % 2}" for i in range(adata.n_obs)]
    st.tl.association(adata, layer="counts", condition="condition", sample="donor")
    assert len(st.get.association(adata, test="condition"))


@check("skeltraj", "time to event")
def _(adata):
    import numpy as np

    st = tree(adata)
    adata.obs["months"] = np.random.default_rng(0).exponential(size=adata.n_obs)
    adata.obs["died"] = True
    st.tl.survival(adata, "months", "died")
    assert len(st.get.survival(adata).coefficients)


@check("skeltraj", "larger than memory")
def _(adata):
    import dask.array as da

    from skeltraj import core

    fit = core.ddrtree(da.from_array(adata.obsm["X_pca"], chunks=(60, -1)), 3)
    assert isinstance(fit.embedding, da.Array)


@check("skeltraj", "results in h5ad")
def _(adata):
    tree(adata)
    assert "ddrtree_branch" in survives(adata).obs


@check("skeltraj", "time points, space")
def _(adata):
    import skeltraj as st

    none_called(["spatial", "time_point", "time_series"], st.tl, st.get, st.pl)


@check("skeltraj", "on a GPU")
def _(adata):
    import skeltraj as st

    for name in st.tl.__all__:
        assert "device" not in inspect.signature(getattr(st.tl, name)).parameters


# ---- scFates


def scfates_tree(adata):
    import scFates as scf

    scf.tl.tree(adata, Nodes=40, use_rep="X_pca", method="ppt", ppt_lambda=20, ppt_sigma=0.3, seed=0)
    scf.tl.root(adata, "score")
    scf.tl.pseudotime(adata, n_jobs=1)
    return scf


@check("scfates", "any representation", "without clusters", "root by", "branch of each cell")
def _(adata):
    scfates_tree(adata)
    assert adata.obs["seg"].notna().all()
    assert adata.uns["graph"]["root"] >= 0


@check("scfates", "skeleton")
def _(adata):
    import scFates as scf

    scf.tl.circle(adata, Nodes=10, use_rep="X_pca")
    scf.tl.curve(adata, Nodes=10, use_rep="X_pca")
    none_called(["loop", "forest"], scf.tl)


@check("scfates", "in", "genes along it", "genes between branches", "conditions")
def _(adata):
    """The tests are there; without rpy2 they end in an error that asks for it."""
    scf = scfates_tree(adata)
    assert callable(scf.tl.test_fork)
    assert "group_key" in inspect.signature(scf.tl.test_covariate).parameters
    if importlib.util.find_spec("rpy2") is None:
        message = ""
        try:
            scf.tl.test_association(adata)
        except Exception as error:  # noqa: BLE001
            message = str(error)
        assert "rpy2" in message or "R " in message, message


@check("scfates", "support of branches", "new cells", "fates of a cell", "time to event", "time points, space")
def _(adata):
    import scFates as scf

    none_called(["boot", "stab", "support", "ingest", "predict", "fate", "surviv", "cox", "spatial"], scf.tl, scf.pp)


@check("scfates", "on a GPU")
def _(adata):
    import scFates as scf

    assert "device" in inspect.signature(scf.tl.tree).parameters


@check("scfates", "results in h5ad")
def _(adata):
    scfates_tree(adata)
    assert "seg" in survives(adata).obs


# ---- PAGA


@check("paga", "in", "skeleton", "any representation", "results in h5ad")
def _(adata):
    import scanpy as sc

    sc.pp.neighbors(adata, use_rep="X_pca", n_neighbors=10)
    sc.tl.paga(adata, groups="group")
    n_groups = adata.obs["group"].nunique()
    assert survives(adata).uns["paga"]["connectivities"].shape == (n_groups, n_groups)


@check("paga", "without clusters")
def _(adata):
    import scanpy as sc

    del adata.obs["group"]
    try:
        sc.tl.paga(adata)
    except (KeyError, ValueError):
        return
    raise AssertionError("it ran without groups")


@check("paga", "root by")
def _(adata):
    """Pseudotime beside it (DPT) wants the number of a cell in ``uns["iroot"]``: without it there is none."""
    import scanpy as sc

    sc.tl.diffmap(adata)
    sc.tl.dpt(adata)
    assert "dpt_pseudotime" not in adata.obs


@check("paga", "branch of each cell", "fates of a cell", "support of branches", "genes along it")
def _(adata):
    import scanpy as sc

    before = set(adata.obs)
    sc.tl.paga(adata, groups="group")
    assert set(adata.obs) == before
    assert set(adata.uns["paga"]) <= {"connectivities", "connectivities_tree", "groups"}


@check("paga", "new cells", "genes between branches", "conditions", "time to event", "time points, space", "on a GPU")
def _(adata):
    import scanpy as sc

    assert set(inspect.signature(sc.tl.paga).parameters) == {
        "adata", "groups", "use_rna_velocity", "model", "neighbors_key", "copy",
    }  # fmt: skip
    none_called(["surviv", "cox", "spatial"], sc.tl)


# ---- Palantir


def palantir_run(adata):
    import palantir

    palantir.utils.run_diffusion_maps(adata, n_components=4, knn=15)
    palantir.utils.determine_multiscale_space(adata, n_eigs=3)
    palantir.core.run_palantir(adata, "cell79", num_waypoints=100, knn=15, n_jobs=1)
    return palantir


@check("palantir", "in", "skeleton", "any representation", "without clusters", "fates of a cell", "results in h5ad")
def _(adata):
    del adata.obs["group"]
    adata.obsm["X_pca"] = adata.obsm["X_pca"][:, :4].copy()
    palantir_run(adata)
    fates = survives(adata).obsm["palantir_fate_probabilities"]
    assert len(fates) == adata.n_obs
    none_called(["tree", "skeleton", "principal"], __import__("palantir").core)


@check("palantir", "root by")
def _(adata):
    import palantir

    early = inspect.signature(palantir.core.run_palantir).parameters["early_cell"]
    assert early.default is inspect.Parameter.empty
    assert "celltype" in inspect.signature(palantir.utils.early_cell).parameters


@check("palantir", "branch of each cell")
def _(adata):
    """Which cells belong to the way to each fate, by a threshold of its probability."""
    palantir = palantir_run(adata)
    palantir.presults.select_branch_cells(adata)
    assert len(adata.obsm["branch_masks"]) == adata.n_obs


@check("palantir", "support of branches", "new cells", "genes between branches", "conditions")
def _(adata):
    import palantir

    none_called(
        ["boot", "stab", "support", "ingest", "predict_", "test", "condition"], palantir.core, palantir.presults
    )
    before = set(adata.obs)
    palantir_run(adata)
    assert set(adata.obs) - before <= {"palantir_pseudotime", "palantir_entropy"}


@check("palantir", "genes along it")
def _(adata):
    """Curves, without a p-value: `compute_gene_trends`."""
    import palantir

    assert callable(palantir.presults.compute_gene_trends)
    none_called(["p_val", "pval", "test"], palantir.presults)


@check("palantir", "time to event", "time points, space")
def _(adata):
    import palantir

    none_called(["surviv", "cox", "spatial", "time_point"], palantir.core, palantir.presults, palantir.utils)


# ---- StaVia


@check(
    "stavia",
    "in",
    "skeleton",
    "any representation",
    "without clusters",
    "fates of a cell",
    "branch of each cell",
    "results in h5ad",
)
def _(adata):
    """Results are on the object, for each cell or cluster; AnnData never comes in."""
    from pyVIA import core

    before = set(adata.obs), set(adata.uns), set(adata.obsm)
    labels = adata.obs["group"].astype(str).tolist()
    via = core.VIA(adata.obsm["X_pca"], labels, knn=15, too_big_factor=0.3, root_user=[79], random_seed=1, small_pop=5)
    via.run_VIA()
    assert len(via.single_cell_pt_markov) == adata.n_obs
    assert via.single_cell_bp.shape[0] == adata.n_obs
    assert len(set(via.labels)) < adata.n_obs / 4
    assert (set(adata.obs), set(adata.uns), set(adata.obsm)) == before


@check("stavia", "root by", "time points, space")
def _(adata):
    from pyVIA import core

    wanted = {"root_user", "velocity_matrix", "time_series_labels", "spatial_coords"}
    assert wanted <= set(inspect.signature(core.VIA).parameters)


@check("stavia", "genes along it")
def _(adata):
    from pyVIA import core

    assert callable(core.get_gene_trend)
    none_called(["p_val", "pval", "test_"], core)


@check("stavia", "support of branches", "new cells", "genes between branches", "conditions", "time to event")
def _(adata):
    from pyVIA import core

    none_called(["boot", "stab", "support", "ingest", "condition", "surviv", "cox_"], core)


# ---- running them


def run(tool):
    """All checks of a program that this interpreter has; a line of JSON for each."""
    import contextlib
    import os
    import warnings

    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr), open(os.devnull, "w") as nowhere:
        import matplotlib

        matplotlib.use("Agg")
        base = cells()
        done = {}
        for (of, _row), function in CHECKS.items():
            if of == tool and function not in done:
                try:
                    with contextlib.redirect_stdout(nowhere):
                        function(base.copy())
                    done[function] = ""
                except Exception as error:  # noqa: BLE001
                    done[function] = f"{type(error).__name__}: {error}"[:300] or "failed"
    print(json.dumps({row: done[f] for (of, row), f in CHECKS.items() if of == tool}))


def interpreter_of(tool, interpreters):
    """The first interpreter that can import the program, or None."""
    for python in interpreters:
        if subprocess.run([python, "-c", f"import {MODULES[tool]}"], capture_output=True).returncode == 0:
            return python
    return None


def outcomes(interpreters):
    """Every cell of the table with what is known of it."""
    for number, tool in enumerate(TOOLS, start=1):
        answers = None
        if tool in MODULES:
            python = interpreter_of(tool, interpreters)
            if python is not None:
                done = subprocess.run([python, __file__, "--run", tool], capture_output=True, text=True)
                answers = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
                if answers is None:
                    print(done.stderr[-2000:], file=sys.stderr)
        for row in TABLE:
            name, text = row[0], row[number]
            if (tool, name) not in CHECKS:
                yield Outcome(tool, name, text, "source", SOURCES[tool])
            elif answers is None:
                yield Outcome(tool, name, text, "not run", f"{MODULES[tool]} cannot be imported, or its checks ended")
            else:
                yield Outcome(tool, name, text, "FALSE" if answers[name] else "true", answers[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="run each claim that can be run")
    parser.add_argument("--python", nargs="*", default=[], metavar="PATH", help="interpreters that have other programs")
    parser.add_argument("--run", choices=list(MODULES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.run)
        return
    if not arguments.check:
        print(table())
        return
    found = list(outcomes([sys.executable, *arguments.python]))
    for one in found:
        print(f"{one.kind:8} {one.tool:10} {one.row:24} {one.text:40} {one.detail}")
    counts = {kind: sum(one.kind == kind for one in found) for kind in ("true", "FALSE", "not run", "source")}
    print(", ".join(f"{kind}: {number}" for kind, number in counts.items()))
    sys.exit(counts["FALSE"] > 0)


if __name__ == "__main__":
    main()
