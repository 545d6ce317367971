"""The checked input of a test along a skeleton, and the model of its responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skeltraj.core._graph.position import Position
from skeltraj.core._runtime import check

from .design import Design, independent, make_design
from .dispersion import known_dispersions
from .model import CODES, Dispersions, Family, Model, estimate_dispersions
from .responses import Responses
from .tree_basis import TreeBasis, placed

_MOST_APART = 1e12  # largest size factor over the smallest; chosen by eye


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """Checked input of a test: the points that are used, responses, curves, size factors, covariates.

    Points are sorted by where they lie, so that those with the same columns follow one another.
    """

    rows: np.ndarray  # the points that are used, in this order
    basis: TreeBasis
    position: Position  # of these points, as all that follows
    responses: Responses
    family: Family
    offset: np.ndarray
    covariates: np.ndarray | None

    @classmethod
    def of(
        cls,
        Y: Any,
        basis: TreeBasis,
        position: Position,
        family: Family,
        size_factors: np.ndarray | None,
        covariates: np.ndarray | None,
        used: np.ndarray | None,
        names: Sequence[str] | None,
        by: Sequence[np.ndarray] | None = None,
        n_columns: int | None = None,
    ) -> Frame:
        """Check what was given; points without a branch are left out, the others sorted `by`, the last key first.

        Points that these keys do not tell apart are sorted by all else that is known of them, so that sums and random
        draws do not depend on the order in which points are given. `n_columns` are the coefficients of the curves;
        None: those of `basis`.
        """
        check.choice(family, "family", CODES)
        position = placed(basis, position)
        n = len(position.edge)
        used = np.ones(n, dtype=bool) if used is None else check.chosen(used, "used", n)
        branch, along = basis.along(position)
        rows = np.flatnonzero(used & (branch >= 0))
        keys = [along, branch] if by is None else list(by)
        offset = _offset(size_factors, family, rows, n)
        C = None if covariates is None else _independent(check.coordinates(covariates, "covariates"), rows, n)
        keys = [offset, *([] if C is None else C.T), *keys]
        rows = rows[np.lexsort([key[rows] for key in keys])]
        alike = np.logical_and.reduce([np.r_[False, key[rows][1:] == key[rows][:-1]] for key in keys])
        counts = family == "negative_binomial"
        responses = Responses(Y, rows, n, alike, counts=counts, yes_or_no=family == "binomial", names=names)
        rows = responses.rows
        n_coefficients = (basis.n_columns if n_columns is None else n_columns) + (0 if C is None else C.shape[1])
        if responses.n_obs <= n_coefficients + 1:
            raise ValueError(
                f"{responses.n_obs} points are used for {n_coefficients} coefficients; wanted at least "
                f"{n_coefficients + 2} points, or a basis of fewer knots (n_knots)."
            )
        C = None if C is None else C[rows]
        return cls(rows, basis, position.part(rows), responses, family, offset[rows], C)

    def refuse_empty_lineages(self, root: int) -> None:
        """Raise if some branch with a tip holds none of the points that are used: its curve could be anything."""
        graph = self.basis.graph
        n_points = np.bincount(self.basis.along(self.position)[0], minlength=len(graph.branches))
        reached = np.isfinite(graph.distances_from(root))
        for b, path in enumerate(graph.branches):
            tips = [end for end in (path[0], path[-1]) if graph.degree[end] == 1]
            if tips and not n_points[b] and reached[path[0]]:
                raise ValueError(
                    f"none of the {self.responses.n_obs} points that are used lies on branch {graph.branch_names[b]}, "
                    f"which ends at tip {graph.node_names[int(tips[0])]}; wanted some on every lineage. Prune the "
                    "branch, or use more points."
                )

    def tree_design(self) -> Design:
        """The curve on the skeleton, tested against a constant."""
        rows = self.basis.rows(self.position)
        null = np.ones((self.basis.n_columns, 1))
        return make_design(rows, self.covariates, null, self.basis.roughness, smooth_total(self.basis))

    def model(
        self, design: Design, done: Callable[[int], None] | None = None, dispersion: np.ndarray | None = None
    ) -> tuple[Model, Dispersions | None, np.ndarray | None]:
        """The responses' distribution, how its dispersions came about, and coefficients to start fits from."""
        given = known_dispersions(dispersion, self.family, self.responses.n_responses)
        if self.family != "negative_binomial":
            return Model(self.family, self.offset, np.zeros(self.responses.n_responses)), None, None
        if given is not None:
            return Model(self.family, self.offset, given), None, None
        dispersions, start = estimate_dispersions(self.responses, design, self.offset, done)
        return Model(self.family, self.offset, dispersions.final), dispersions, start


def _offset(size_factors: np.ndarray | None, family: Family, rows: np.ndarray, n: int) -> np.ndarray:
    """The logarithm of each point's size factor, (n,), of which `rows` are used; 0 where there are none."""
    if size_factors is None:
        return np.zeros(n)
    if family != "negative_binomial":
        raise ValueError(f"size_factors were given with family={family!r}; wanted 'negative_binomial'.")
    factors = check.vector(size_factors, "size_factors", n)
    bad = int((~(factors[rows] > 0) | ~np.isfinite(factors[rows])).sum())
    if bad:
        raise ValueError(
            f"size_factors: {bad} of {len(rows)} are not finite numbers above 0; wanted all of them (leave "
            "points without counts out)."
        )
    low, high = factors[rows].min(initial=np.inf), factors[rows].max(initial=0.0)
    if high > _MOST_APART * low:
        raise ValueError(
            f"size_factors go from {low:g} to {high:g}; wanted the largest at most {_MOST_APART:g} times the "
            "smallest (leave such points out)."
        )
    return np.log(np.where(factors > 0, factors, 1.0))


def _independent(C: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """The columns of covariates, (n, n_covariates), that do not follow from others in the `rows` that are used."""
    if len(C) != n:
        raise ValueError(f"covariates are of {len(C)} points, positions of {n}; wanted the same points.")
    return C[:, independent(check.finite(C[rows], "covariates"))]


def smooth_total(basis: TreeBasis) -> float:
    """What the weights of the tested directions sum up to on a skeleton; chosen by measurement (gene_power.py)."""
    return 2.0 + len(basis.splines)
