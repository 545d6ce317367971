"""Whether a change of the code leaves every result as it was, to the last bit.

Fits all methods, with the steps before and after them, on small data sets; notes a digest of every array that is stored
or returned; compares two such notes. On one machine, with the same versions of the dependencies:

    python benchmarks/same_results.py record before.json     # in a checkout of the code before the change
    python benchmarks/same_results.py record after.json      # in one of the code after it
    python benchmarks/same_results.py compare before.json after.json
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import skeltraj as st
from skeltraj import core

METHODS: dict[str, dict[str, Any]] = {
    "ddrtree": {},
    "drtree": {},
    "principal_tree": {},
    "principal_graph": {},
    "mpme": {},
    "spl": {},
}


def tree(n: int, n_features: int, seed: int) -> ad.AnnData:
    """Cells on a tree with two forks, with groups and donors."""
    rng = np.random.default_rng(seed)
    ends = rng.standard_normal((6, n_features))
    joints = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
    branch, place = rng.integers(len(joints), size=n), rng.random(n)
    a, b = np.array(joints)[branch].T
    X = ends[a] + place[:, None] * (ends[b] - ends[a]) + 0.15 * rng.standard_normal((n, n_features))
    obs = pd.DataFrame(
        {
            "group": pd.Categorical(np.array(["stem", "early", "side", "left", "right"])[branch]),
            "donor": pd.Categorical(np.array(["d1", "d2", "d3", "d4"])[rng.integers(4, size=n)]),
        },
        index=[f"c{i}" for i in range(n)],
    )
    return ad.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"g{i}" for i in range(n_features)]))


def sets() -> dict[str, ad.AnnData]:
    """The data: many and few columns, sparse counts, float32, copies of rows."""
    rng = np.random.default_rng(5)
    counts = tree(260, 40, 2)
    counts.X = sparse.csr_matrix(rng.poisson(np.exp(counts.X)).astype(np.float64))
    single = tree(330, 12, 3)
    single.X = single.X.astype(np.float32)
    copies = tree(150, 8, 4)
    copies.X[60:75] = copies.X[45:60]
    return {"tree": tree(400, 30, 1), "counts": counts, "float32": single, "copies": copies}


def results() -> Iterator[tuple[str, Any]]:
    """Everything that is compared, by name."""
    for name, adata in sets().items():
        for method, options in METHODS.items():
            here = adata.copy()
            getattr(st.tl, method)(here, **options)
            st.tl.order(here, root={"group": "stem"}, key=method)
            yield f"{name} {method}", here
            if method in ("ddrtree", "principal_tree"):
                half = adata[: adata.n_obs // 2].copy()
                getattr(st.tl, method)(half, n_starts=1)
                st.tl.order(half, root={"group": "stem"}, key=method)
                new = adata[adata.n_obs // 2 :].copy()
                st.tl.ingest(new, half, key=method)
                yield f"{name} {method} ingested", new
                more = here.copy()
                st.tl.prune(more, key=method, min_gain=0.05)
                st.tl.order(more, root={"group": "stem"}, key=method)
                yield f"{name} {method} pruned", more
                st.tl.stability(here, key=method, n_replicates=4)
                yield f"{name} {method} stability", here
            if method in ("ddrtree", "principal_graph"):
                st.tl.composition(here, "group", key=method, n_permutations=200)
                st.tl.composition(here, "group", sample="donor", key=method, n_permutations=200)
                yield f"{name} {method} composition", here
                yield f"{name} {method} tables", st.get.groups(here, "group", key=method)
    adata = tree(400, 30, 1)
    X = adata.X
    starts: dict[str, Callable[[], Any]] = {
        "kdd2015": lambda: core.ddrtree(X, preset="kdd2015", max_iter=20),
        "monocle2": lambda: core.ddrtree(X, preset="monocle2"),
        "hard": lambda: core.ddrtree(X, 5, assignment="hard"),
        "extrapolated": lambda: core.ddrtree(X, 5, extrapolate=True, tol=1e-8),
        "share of the variance": lambda: core.ddrtree(X, 0.9),
        "kernel": lambda: core.ddrtree(X @ X.T, 3, kernel="precomputed"),
        "conjugate gradients": lambda: core.ddrtree(np.tile(X, (3, 1)) + np.arange(1200)[:, None] % 7, n_nodes=1000),
        "drtree kernel": lambda: core.drtree(X @ X.T, 3, kernel="precomputed"),
        "principal tree, hard": lambda: core.principal_tree(X, assignment="hard"),
        "mpme laplacian": lambda: core.mpme(X, 3, embed="laplacian"),
        "mpme finite C": lambda: core.mpme(X, 2, C=0.5),
        "mpme, all pairs": lambda: core.mpme(X[:60], 2, solver="lbfgs-all-pairs"),
        "spl": lambda: core.spl(X, 3),
        "denoise": lambda: core.denoise(X),
    }
    for name, fit in starts.items():
        yield name, fit()
    fit = core.ddrtree(X, 5)
    yield "transform", fit.transform(X[:50] + 0.1)
    yield "order", core.order(fit.graph, fit.embedding, root=0, assignment=fit.assignment)
    yield "prune", core.prune(fit.graph, fit.embedding, X @ fit.loadings - fit.mean @ fit.loadings, min_gain=0.02)
    try:
        import dask.array as da
    except ImportError:
        return
    yield "dask", core.ddrtree(da.from_array(X, chunks=(90, -1)), 5)


def digests(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Names of all arrays and numbers in a value, with what they hold."""
    if isinstance(value, ad.AnnData):
        for slot in ("obs", "obsm", "varm", "obsp", "uns"):
            yield from digests(f"{name}.{slot}", getattr(value, slot))
    elif isinstance(value, pd.DataFrame):
        for column in value:
            yield from digests(f"{name}[{column}]", value[column].astype(object).to_numpy())
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            if key != "version":
                yield from digests(f"{name}[{key}]", value[key])
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from digests(f"{name}.{field.name}", getattr(value, field.name))
    elif sparse.issparse(value):
        whole = sparse.csr_matrix(value)
        whole.sort_indices()
        yield from digests(f"{name}.data", whole.data)
        yield from digests(f"{name}.indices", whole.indices.astype(np.int64))
        yield from digests(f"{name}.indptr", whole.indptr.astype(np.int64))
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            yield from digests(f"{name}[{i}]", entry)
    else:
        array = np.asarray(value)
        if array.dtype == object:
            held = repr(array.tolist()).encode()
        else:
            held = np.ascontiguousarray(array).tobytes() + str((array.dtype.kind, array.shape)).encode()
        yield name, hashlib.sha256(held).hexdigest()[:24]


def record(path: Path) -> int:
    """Write the digests of all results to a file."""
    noted: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in results():
            noted.update(digests(name, value))
            print(f"{len(noted):6d} values, {name}", file=sys.stderr)
    path.write_text(json.dumps(noted, indent=0))
    print(f"{len(noted)} values in {path}")
    return 0


def compare(one: Path, other: Path) -> int:
    """Print what differs between two files; 1 if anything does."""
    before, after = (json.loads(path.read_text()) for path in (one, other))
    gone, new = sorted(before.keys() - after), sorted(after.keys() - before)
    changed = sorted(name for name in before.keys() & after if before[name] != after[name])
    for what, names in (("only before", gone), ("only after", new), ("changed", changed)):
        for name in names:
            print(f"{what}: {name}")
    print(f"{len(before.keys() & after) - len(changed)} of {len(before)} values are the same to the last bit")
    return int(bool(gone or new or changed))


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record", help="fit everything and write the digests").add_argument("path", type=Path)
    both = commands.add_parser("compare", help="print what differs")
    both.add_argument("one", type=Path)
    both.add_argument("other", type=Path)
    options = parser.parse_args()
    return record(options.path) if options.command == "record" else compare(options.one, options.other)


if __name__ == "__main__":
    sys.exit(main())
