"""Every public call of `skeltraj.estimators` and `skeltraj.datasets`, as those of `core_calls`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from calls import Call
from core_calls import FEW, MAX_ITER, SEEDS, D, N, is_finite, options, rows, tables
from skeltraj import datasets, estimators
from strategies import ERRORS, matrices, scalars

_SETS = dict(n_nodes=8)
_OF_FIT = dict(max_iter=MAX_ITER, tol=scalars(), random_state=SEEDS | scalars())
_OF_NODES = dict(n_nodes=scalars(), sigma=scalars(), gamma=scalars(), assignment=scalars())
_OF_EMBEDDING = dict(n_components=scalars(), lam=scalars(), center=scalars(), kernel=scalars(), init=tables(N, 2))


def fit_and_place(kind: type, X: Any, new: Any = None, **arguments: Any) -> Any:
    """Fit, and where that can be, place new rows."""
    fitted = kind(**arguments).fit(X)
    if new is not None:
        fitted.transform(new), fitted.predict(new)
    return fitted


def is_fitted(fitted: Any, arguments: dict[str, Any]) -> None:
    is_finite(fitted.nodes_, fitted.embedding_)
    assert len(fitted.embedding_) == np.shape(arguments["X"])[0]


def estimator(name: str, odd: dict[str, Any], places: bool = True, **fine: Any) -> Call:
    kind = getattr(estimators, name)
    data = dict(X=matrices(lazy=False)) | (dict(new=tables(5, D)) if places else {})
    return Call(
        lambda X, **more: fit_and_place(kind, X, **more),
        lambda: dict(X=rows()[: N if places else 16].copy()) | fine,
        data | odd,
        is_fitted,
        ("array", "sample", "RandomState", "dtype", "data", "convert", "feature", "Complex", "number"),
        share=0.6,
        elsewhere=("sklearn", "pandas"),  # what X is, scikit-learn says as it does for all estimators
    )


ESTIMATORS = {
    "DDRTree": estimator(
        "DDRTree",
        _OF_FIT | _OF_NODES | _OF_EMBEDDING | dict(preset=scalars(), extrapolate=scalars(), least_weight=scalars()),
        **_SETS,
    ),
    "DRTree": estimator("DRTree", _OF_EMBEDDING | dict(max_iter=MAX_ITER, tol=scalars())),
    "PrincipalTree": estimator("PrincipalTree", _OF_FIT | _OF_NODES | dict(init=tables(6, D)), **_SETS),
    "PrincipalGraph": estimator(
        "PrincipalGraph",
        _OF_FIT | _OF_NODES | dict(eta=scalars(), constant=scalars(), candidates=scalars(), min_weight=scalars()),
        **_SETS,
    ),
    "MPME": estimator(
        "MPME",
        dict(
            n_components=scalars(), lam=scalars(), C=scalars(), metric=scalars(), embed=scalars(), solver=scalars(),
            n_neighbors=scalars(), max_iter=MAX_ITER, tol=scalars(),
        ),
        places=False,
    ),
    "SPL": estimator(
        "SPL",
        dict(
            n_components=scalars(), gamma=scalars(), C=scalars(), n_neighbors=scalars(), neighbors=tables(16, 3),
            scale=scalars(), center=scalars(), solver=scalars(), max_iter=MAX_ITER, tol=scalars(),
        ),
        places=False,
    ),
    "TreeLearner": estimator(
        "TreeLearner",
        dict(
            method=scalars() | st.just("principal_tree"), n_components=scalars(), n_nodes=scalars(),
            denoise=scalars() | options("n_steps", "n_neighbors"), prune=scalars() | options("n_tips", "min_gain"),
            n_starts=FEW,
            method_params=scalars() | options("sigma", "gamma"), random_state=SEEDS,
        ),
        n_starts=1,
    ),
}  # fmt: skip


def simulated(name: str, **more: Any) -> Call:
    few = st.sampled_from([3, 4, 10, 10**400, 10**9, 2**63, -1, 0]) | scalars()
    return Call(
        getattr(datasets, name),
        dict,
        dict(n_obs=few, noise=scalars(), rng=SEEDS) | more,
        lambda adata, arguments: is_finite(adata.X),
    )


SHAPES = ("circle", "distorted_s", "helix", "spiral", "three_clusters", "twin_peaks", "two_moons", "zigzag")
_NOWHERE = str(Path(__file__).parent / "no such folder" / "file")
_FILES = dict(path=st.just(_NOWHERE) | st.just(__file__) | scalars().filter(lambda v: v is not None))

DATASETS = {name: simulated(name) for name in SHAPES} | {
    "noisy_rings": simulated("noisy_rings", n_features=scalars()),
    "metabric": Call(
        datasets.metabric,
        lambda: dict(path=_NOWHERE, cache_dir=_NOWHERE, progress=False),
        _FILES | dict(genes=scalars(), table=scalars(), cache_dir=scalars(), progress=scalars()),
        words=("path", "table", "file", _NOWHERE),
        errors=(*ERRORS, OSError),
    ),
    "tcga_brca": Call(
        datasets.tcga_brca,
        lambda: dict(path=_NOWHERE, cache_dir=_NOWHERE, progress=False),
        _FILES | dict(cache_dir=scalars(), progress=scalars()),
        words=("path", "table", "file", _NOWHERE),
        errors=(*ERRORS, OSError),
    ),
}
CALLS = ESTIMATORS | DATASETS
