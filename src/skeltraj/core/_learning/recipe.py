"""How a tree was made, so that it can be made again of other rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._printing import Printed
from skeltraj.core._methods.register import METHODS
from skeltraj.core._runtime import check
from skeltraj.core._solvers.descent import Callback

from .denoise import MAX_REFERENCE
from .denoised import Denoised
from .learned import Learned, TreeFit
from .steps import run_steps

VARIED = ("cells", "sigma", "lam", "n_nodes", "rng")
_FEWEST_NODES = 10  # with which a replicate is learned where the number of nodes is varied; chosen by eye


@dataclass(frozen=True, repr=False)
class Recipe(Printed):
    """The steps by which a tree was learned, with their parameters as resolved.

    Parameters
    ----------
    method
        Name of a method that can be learned again (`Method.can_be_relearned`), as "ddrtree".
    params
        Arguments of its function: numbers, nothing "auto"; `n_nodes` those before pruning.
    denoise
        Arguments of `denoise`; None: not at all.
    prune
        ``min_gain`` and ``resolution``; None: not at all.
    """

    method: str
    params: dict[str, Any]
    denoise: dict[str, Any] | None = None
    prune: dict[str, float] | None = None

    @classmethod
    def of(cls, method: str, learned: Learned, *, center: bool = True) -> Recipe:
        """How a tree was learned by a method; `center` as the input was denoised with."""
        params = {name: learned.whole.params[name] for name in METHODS[method].arguments}
        pruning = learned.pruning
        return cls(
            method,
            params,
            None if learned.smooth is None else learned.smooth.arguments | {"center": center},
            None if pruning is None else {"min_gain": pruning.min_gain, "resolution": pruning.resolution},
        )

    def check(self, vary: Sequence[str]) -> tuple[str, ...]:
        """What to vary, checked: a tuple of some of `VARIED`."""
        if isinstance(vary, str) or not isinstance(vary, Iterable):
            raise TypeError(
                f"vary={check.in_message(vary)} is a {type(vary).__name__}; wanted a tuple of some of {list(VARIED)}, "
                "as ('cells',)."
            )
        names = tuple(dict.fromkeys(check.choice(name, "vary", VARIED) for name in vary))
        if not names:
            raise ValueError(f"vary is empty; wanted some of {list(VARIED)}.")
        if "sigma" in names and self.params.get("assignment") == "hard":
            raise ValueError("vary holds 'sigma', but the tree was fitted with assignment='hard', which has none.")
        return names

    def in_components(self, smooth: Denoised) -> Recipe:
        """The same for the rows' scores in the components in which they were denoised (`Denoised.scores`)."""
        if self.denoise is None:
            raise ValueError("the recipe does not denoise.")
        done = {"n_components": smooth.loadings.shape[1], "equalize": False, "compress": False, "center": False}
        return replace(self, denoise=self.denoise | done)

    def varied(self, vary: Sequence[str], n_obs: int, rng: np.random.Generator) -> Recipe:
        """The same for a replicate: some parameters up to twice or half as large, the logarithm of the factor uniform.

        Replicates are only compared, so fits end once a round changes the objective by less than a ten-thousandth, and
        leave out small weights (`Method.roughly`).
        "lam" is gamma for a principal tree. A resolution of the pruning goes along with sqrt(sigma).
        """
        params, prune = METHODS[self.method].roughly(self.params), self.prune
        factor = {name: float(np.exp(rng.uniform(-np.log(2), np.log(2)))) for name in ("sigma", "lam", "n_nodes")}
        if "sigma" in vary:
            params["sigma"] *= factor["sigma"]
            if prune is not None:
                prune = prune | {"resolution": prune["resolution"] * float(np.sqrt(factor["sigma"]))}
        if "lam" in vary:
            params[METHODS[self.method].length_weight] *= factor["lam"]
        if "n_nodes" in vary:
            least = min(_FEWEST_NODES, params["n_nodes"])
            params["n_nodes"] = int(np.clip(round(params["n_nodes"] * factor["n_nodes"]), least, n_obs))
        return replace(self, params=params, prune=prune)

    def learn(
        self, X: np.ndarray | sparse.csr_matrix, counts: np.ndarray, seed: Any, callback: Callback | None = None
    ) -> Learned:
        """The tree of some rows, each as often as `counts` says; the `callback` of its fit may end that early.

        Rows are denoised along the neighbour graph of the distinct ones: copies would be each other's neighbours. As
        there are fewer of these, they get fewer neighbours, in proportion, so that means are taken over as wide a part
        of the tree as before; else short branches would be drawn into others.
        """
        there = np.flatnonzero(counts)
        rows = X[there]
        n_different = 1 if _all_same(rows) else len(there)
        if n_different < 3 and len(there) < X.shape[0]:
            raise ValueError(
                f"a draw of {X.shape[0]} cells with replacement holds {n_different} that differ; wanted at least 3. "
                "Where cells are so few, or so many of them copies, vary=('rng', 'sigma') learns from all, once each."
            )
        smooth = None
        if self.denoise is not None:
            share = min(len(there), MAX_REFERENCE) / min(X.shape[0], MAX_REFERENCE)
            n_neighbors = min(max(1, round(share * self.denoise["n_neighbors"])), len(there) - 1)
            smooth = self.denoise | {"n_neighbors": n_neighbors}

        def fit(matrix: Any, callback: Any, rng: Any, init: Any = None) -> TreeFit:
            params = {name: value for name, value in self.params.items() if name != "sigma" or value > 0}
            if "n_components" in params:  # few cells span fewer dimensions
                params["n_components"] = min(params["n_components"], *matrix.shape)
            return METHODS[self.method].fit(matrix, **params, rng=rng, callback=callback)

        resampled = np.repeat(np.arange(len(there)), counts[there])
        return run_steps(rows, fit, denoise=smooth, prune=self.prune, resampled=resampled, rng=seed, callback=callback)


def _all_same(rows: np.ndarray | sparse.csr_matrix) -> bool:
    """Whether rows are copies of one."""
    if sparse.issparse(rows):
        return not (rows.max(axis=0) - rows.min(axis=0)).count_nonzero()
    return not np.ptp(rows, axis=0).any()
