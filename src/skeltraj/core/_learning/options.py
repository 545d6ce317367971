"""What is done around a fit unless the user says so: components, denoising, several starts, pruning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from skeltraj.core._data.space import columns_space
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import is_auto
from skeltraj.core._runtime.lazy import in_memory

Setting = int | bool | Literal["auto"] | Mapping[str, int | Literal["auto"]]
Pruning = bool | Literal["auto"] | Mapping[str, float]

# arguments of `denoise` that users may set
_DENOISE_OPTIONS = ("n_neighbors", "n_steps", "n_tangents", "equalize", "compress")
_PRUNE_OPTIONS = ("min_gain", "n_tips", "resolution")  # the same of `prune`
_MIN_DENOISED_COMPONENTS = 30  # principal components in which neighbours are looked for; chosen by eye
_N_COMPONENTS = 20  # of an embedding by default (benchmarks/defaults.py)
_FIRST_ROWS = 1000  # in which most columns have two values that have any; chosen by eye
_MOST_STARTS = 1000  # each is a fit; beyond, trees hardly differ
_N_STARTS = 5  # by default (benchmarks/defaults.py)
_MAX_ROWS_SEVERAL_STARTS = 10_000  # up to which all rows are fitted from each; chosen by eye


@dataclass(frozen=True)
class Given:
    """Which of the arguments of a method were given by the user, on which "auto" depends.

    Parameters
    ----------
    preset, kernel, init
        As given.
    n_nodes
        As given, "auto" if not.
    sets_nodes
        Whether `init` holds nodes.
    """

    preset: str | None
    kernel: str | None
    init: Any
    n_nodes: Any
    sets_nodes: bool

    @property
    def as_it_is(self) -> bool:
        """Whether "auto" leaves the input and the fit alone."""
        return self.preset is not None or self.kernel is not None or self.sets_nodes

    @property
    def one_start(self) -> bool:
        """Whether "auto" is one start."""
        return self.as_it_is or self.init is not None or not is_auto(self.n_nodes)

    @property
    def keeps_nodes(self) -> bool:
        """Whether "auto" does not prune."""
        return self.preset is not None or self.sets_nodes or not is_auto(self.n_nodes)


def components(setting: int | float | Literal["auto"], X: Any, given: Given, *, center: bool = True) -> int | float:
    """How many components an embedding of a matrix has; a share of the variance stays one."""
    if not isinstance(setting, str):
        return check.components(setting, X.shape)  # before it stands for parts of the rows, whose shape is another
    check.choice(setting, "n_components", ["auto"], beside=", a number or a share of the variance between 0 and 1")
    start = given.init[0] if isinstance(given.init, tuple) and given.init else getattr(given.init, "nodes", given.init)
    if len(getattr(start, "shape", ())) == 2:
        return int(start.shape[1])
    n_obs, n_features = X.shape
    if given.preset is not None:
        return min(2, n_obs, n_features)
    # centred rows span at most n_obs - 1 dimensions, and none in which all are the same
    return max(1, min(_N_COMPONENTS, n_obs - 1, _n_varying(X) if center else n_features))


def _n_varying(X: Any) -> int:
    """How many columns have more than one value, unless these are more than there can be components.

    Of a matrix that is not in memory all columns count: to look at them takes a pass.
    """
    n = int(X.shape[1])
    if in_memory(X):
        for rows in (X[:_FIRST_ROWS], X):
            high, low = rows.max(axis=0), rows.min(axis=0)
            n = int((high != low).sum())
            if n >= _N_COMPONENTS:
                break
    return n


def denoising(
    setting: Setting, X: Any, given: Given, *, n_components: int | float = 0, center: bool = True, name: str = "X"
) -> tuple[dict[str, Any] | None, int | float]:
    """Arguments of `denoise`, None if it is not done; and the number of components to fit.

    Parameters
    ----------
    setting
        As given by the user; anything explicit goes before what "auto" would do.
    X
        The input.
    given
        On which "auto" depends.
    n_components
        As given by the user: a share is taken of the input as it is. 0: the fit has no components of its own.
    center
        Whether column means are subtracted.
    name
        What messages call X.
    """
    original = setting
    if is_auto(setting):
        setting = not given.as_it_is
    if isinstance(setting, np.bool_):
        setting = bool(setting)
    options: dict[str, Any] = {}
    if isinstance(setting, Mapping):
        options, setting = _chosen(setting, "denoise", _DENOISE_OPTIONS), True
        for option in ("equalize", "compress"):
            check.choice(options.get(option, "auto"), option, [True, False, "auto"])
    if setting is not True and not isinstance(setting, Integral):
        raise TypeError(
            f"denoise={original!r} is a {type(original).__name__}; wanted 'auto', True, False, a number or a dict."
        )
    if setting is False or setting == 0:
        return None, n_components
    if given.kernel is not None:
        raise ValueError(f"denoise={original!r} with a kernel matrix; wanted denoise=False, or the data themselves.")
    if given.sets_nodes and not (n_components and isinstance(given.init, tuple)):
        raise ValueError(
            f"denoise={original!r} with init; wanted denoise=False, since init's nodes are in the input's space."
        )
    if setting is not True:
        options = {"n_neighbors": check.count(setting, "denoise")}
    if check.is_streamed(X):  # else it is checked already
        X = check.matrix(X, name=name, streams=True)
    d = n_components
    if n_components:
        d = check.components(n_components, X.shape)
        if not isinstance(d, int):
            d = columns_space(X, center=center, name=name).components_for(float(d))
        if d > X.shape[0] - 1:
            raise ValueError(f"n_components={n_components!r} for {X.shape[0]} denoised cells; wanted at most one less.")
    fixed = {"n_components": max(_MIN_DENOISED_COMPONENTS, int(d)), "center": center, "name": name}
    return fixed | {"equalize": "auto", "compress": "auto"} | options, d


def pruning(setting: Pruning, given: Given) -> dict[str, Any] | None:
    """Arguments of `pruned`, None if it is not done: by default where no number of nodes was asked for."""
    if isinstance(setting, Mapping):
        options = _chosen(setting, "prune", _PRUNE_OPTIONS)
        if {"min_gain", "n_tips"} <= set(options):
            raise ValueError(f"prune={dict(setting)!r} has both min_gain and n_tips; wanted one of them.")
        checked = lambda name, value: (
            check.count(value, name, at_least=2) if name == "n_tips" else check.number(value, name, at_least=0)
        )
        return {name: checked(name, value) for name, value in options.items()}
    check.choice(setting, "prune", [True, False, "auto"], beside=f", or a dict of some of {list(_PRUNE_OPTIONS)}")
    return {} if (not given.keeps_nodes if is_auto(setting) else setting) else None


def starts(setting: int | Literal["auto"], given: Given, n_obs: int, *, from_samples: bool) -> int:
    """From how many starts to fit, all rows or samples of them."""
    if isinstance(setting, str):
        check.choice(setting, "n_starts", ["auto"], beside=", or a number")
        many = n_obs > _MAX_ROWS_SEVERAL_STARTS and not from_samples
        return 1 if given.one_start or many else _N_STARTS
    return check.count(setting, "n_starts", at_most=_MOST_STARTS)


def _chosen(options: Mapping[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
    for option in options:
        check.choice(option, name, known)
    return dict(options)
