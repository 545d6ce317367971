"""Default parameter values of DDRTree, and those of the programs before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import is_auto

MOST_GAMMA = 1e14  # beyond, so little of one is left beside it in double precision that the objective may rise
PRESETS = ("kdd2015", "monocle2")
MAX_ITER = 200  # rounds, without a preset


@dataclass(frozen=True)
class Settings:
    """Parameters as resolved; `sigma` is None where it is to be taken from the start's embedding.

    `gamma` and `lam` are None where they follow from the number of components; see `with_components`.
    """

    n_obs: int
    n_nodes: int
    lam: float | None
    sigma: float | None
    gamma: float | None
    max_iter: int
    tol: float

    def with_components(self, d: int) -> tuple[float, float]:
        """Gamma and lam for an embedding in `d` dimensions.

        In each round a point goes the share gamma / (1 + gamma) of its way to the nodes: in many dimensions, where its
        noise is spread out, less is enough, and more draws neighbouring branches together. So does a tree that is
        shortened as strongly as two dimensions want it, where branches lie over one another.
        """
        gamma = max(0.1, 2.0 / d) if self.gamma is None else self.gamma
        if self.lam is not None:
            return gamma, self.lam
        return gamma, min(3.0, max(1.5, 30.0 / d)) * gamma * self.n_obs / self.n_nodes


def monocle_nodes(n_obs: int) -> int:
    """Monocle 2's number of nodes, ``200 ln n / (ln n + ln 100)``: 100 at n = 100, 143 at n = 100,000."""
    return round(200 * np.log(n_obs) / (np.log(n_obs) + np.log(100)))


def n_nodes_of(value: Any, n_obs: int) -> int:
    """K for a parameter `n_nodes`: a number, "auto" (see `monocle_nodes`), "all" or None (one per row)."""
    if is_auto(value):
        value = min(n_obs, monocle_nodes(n_obs))
    elif value is None or (isinstance(value, str) and value == "all"):
        value = n_obs
    elif isinstance(value, str):
        raise ValueError(f"n_nodes={check.in_message(value)} is not known. Wanted a whole number, 'auto' or 'all'.")
    return check.count(value, "n_nodes", at_least=2, at_most=n_obs, why=" (the number of rows)")


def resolve(n_obs: int, preset: str | None, **given: Any) -> Settings:
    """Explicit values first, then the preset's, then the defaults; each checked."""
    check.choice(preset, "preset", [None, *PRESETS])
    values = _preset(preset, n_obs) | {name: value for name, value in given.items() if not is_auto(value)}
    n_nodes = n_nodes_of(values.get("n_nodes", "auto"), n_obs)
    gamma, lam, sigma = (values.get(name) for name in ("gamma", "lam", "sigma"))
    return Settings(
        n_obs=n_obs,
        n_nodes=n_nodes,
        lam=None if lam is None else check.number(lam, "lam", at_least=0),
        sigma=None if sigma is None else check.number(sigma, "sigma", above=0),
        gamma=None if gamma is None else check.number(gamma, "gamma", above=0, at_most=MOST_GAMMA),
        max_iter=check.count(values.get("max_iter", MAX_ITER), "max_iter"),
        tol=check.number(values.get("tol", 1e-5), "tol", at_least=0),
    )


def _preset(name: str | None, n_obs: int) -> dict[str, Any]:
    if name == "kdd2015":
        return dict(n_nodes="all", lam=float(n_obs), sigma=1e-3, gamma=10.0)
    if name == "monocle2":
        n_nodes = monocle_nodes(n_obs) if n_obs >= 100 else n_obs
        return dict(n_nodes=n_nodes, lam=5.0 * n_obs, sigma=1e-3, gamma=10.0, max_iter=20, tol=1e-3)
    return {}
