"""What is done around a fit unless the user says so: denoising, several starts, pruning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Literal

import numpy as np

from skeltraj import core
from skeltraj._keys import Param
from skeltraj.core._data.space import columns_space
from skeltraj.core._runtime import check
from skeltraj.tl._inputs.pick import Input

Setting = int | bool | Literal["auto"] | Mapping[str, int]
_DENOISE_OPTIONS = ("n_neighbors", "n_steps", "n_tangents")  # arguments of core.denoise that users may set
_MIN_DENOISED_COMPONENTS = 30  # principal components in which neighbours are looked for; chosen by eye
_N_STARTS = 5  # by default (benchmarks/defaults.py)
_MAX_CELLS_SEVERAL_STARTS = (
    5000  # up to which there are several: of more, one is enough (benchmarks/defaults.py --many)
)


def denoiser(
    setting: Setting, source: Input, *, never: str | None = None, n_components: int | float = 0, center: bool = True
) -> tuple[Callable[[], core.Denoised] | None, int | float]:
    """What denoises the input, or None; and the number of components to fit.

    Parameters
    ----------
    setting
        As given by the user.
    source
        The input.
    never
        The argument for which "auto" does not denoise, as given; anything explicit goes before it.
    n_components
        As given by the user: a share is taken of the input as it is.
    center
        Whether column means are subtracted.
    """
    if isinstance(setting, str) and setting == "auto":
        setting = never is None
    if isinstance(setting, np.bool_):
        setting = bool(setting)
    options: dict[str, Any] = {}
    if isinstance(setting, Mapping):
        for name in setting:
            check.choice(name, "denoise", _DENOISE_OPTIONS)
        options, setting = dict(setting), True
    if setting is not True and not isinstance(setting, Integral):
        raise TypeError(
            f"denoise={setting!r} is a {type(setting).__name__}; wanted 'auto', True, False, a number or a dict."
        )
    if setting is False or setting == 0:
        return None, n_components
    if Param.KERNEL in source.recorded:
        raise ValueError(f"denoise={setting!r} with a kernel matrix; wanted denoise=False, or the data themselves.")
    if setting is not True:
        options = {"n_neighbors": check.count(setting, "denoise")}
    X = check.matrix(source.matrix, name=source.name, streams=True)
    d = n_components
    if n_components:
        d = check.components(n_components, X.shape)
        if not isinstance(d, int):
            d = columns_space(X, center=center, name=source.name).components_for(float(d))
        if d > X.shape[0] - 1:
            raise ValueError(f"n_components={n_components!r} for {X.shape[0]} denoised cells; wanted at most one less.")
    most = max(_MIN_DENOISED_COMPONENTS, int(d))
    return lambda: core.denoise(X, most, center=center, name=source.name, **options), d


def prunes(setting: bool | Literal["auto"], n_nodes: Any, preset: str | None = None, init: Any = None) -> bool:
    """Whether to prune: by default, unless a number of nodes was asked for."""
    check.choice(setting, "prune", [True, False, "auto"])
    given = preset is not None or n_nodes != "auto" or isinstance(init, tuple)
    return not given if setting == "auto" else bool(setting)


def starts(setting: int | Literal["auto"], *, n_nodes: Any, never: str | None, n_obs: int) -> int:
    """From how many starts to fit.

    Parameters
    ----------
    setting
        As given by the user.
    n_nodes
        As given by the user.
    never
        The argument with which "auto" is one start, as given.
    n_obs
        Number of cells.
    """
    if isinstance(setting, str):
        check.choice(setting, "n_starts", ["auto"])
        automatic = never is None and isinstance(n_nodes, str) and n_nodes == "auto"
        return _N_STARTS if automatic and n_obs <= _MAX_CELLS_SEVERAL_STARTS else 1
    return check.count(setting, "n_starts")
