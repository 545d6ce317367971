"""The whole recipe in one call: the input denoised, a tree learned from several starts, and pruned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._methods.ddrtree import DDRTreeFit
from skeltraj.core._methods.register import METHODS, Method
from skeltraj.core._nodes.settings import MAX_ITER, n_nodes_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto, is_auto
from skeltraj.core._runtime.threads import computing
from skeltraj.core._runtime.warn import warn
from skeltraj.core._solvers.descent import Callback

from .fits import Fits
from .learned_tree import LearnedTree
from .options import Given, Pruning, Setting, components, denoising, pruning, starts
from .recipe import Recipe
from .samples import all_of_few, samples_of
from .steps import run_steps

_OWN = ("X", "n_components", "rng", "callback", "name")  # arguments of a method that `learn_tree` has itself


@shared_texts
@computing()
def learn_tree(
    X: np.ndarray | sparse.csr_matrix,
    method: str = "ddrtree",
    *,
    n_components: int | float | Auto = "auto",
    denoise: Setting = "auto",
    n_starts: int | Auto = "auto",
    prune: Pruning = "auto",
    rng: int | np.random.Generator = 0,
    callback: Callback | None = None,
    step: Callable[[str], object] | None = None,
    count: Callable[[int, int], object] | None = None,
    name: str = "X",
    **params: Any,
) -> LearnedTree:
    """Learn a tree as `tl.ddrtree` and `tl.principal_tree` do: denoise the rows, fit from several starts, prune.

    The functions of the methods (`ddrtree`, `principal_tree`) are the fit alone. For the same matrix and arguments, the
    tree is the one that `tl` stores, to the last bit.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse; also a dask array or a matrix on disk. Principal components, as
        `tl` takes them where they are there, or what is to stand for them.
    method
        A method that learns a tree to which rows are assigned: "ddrtree" or "principal_tree".
    n_components
        Dimensions of DDRTree's embedding; or, between 0 and 1, the share of the input's variance that the leading
        principal components must keep, which sets them. "auto": 20 (with a preset 2), or as many as the input has.
    <denoise>
    <n_starts>
    <prune>
    <rng_nodes>
    callback
        Called as ``callback(round, objective)`` at the start and after every round of the last fit, of all rows: the
        only one, or that which begins where the tree chosen ended. A true answer stops all fits.
    step
        Called with the name of each other step as it begins, such as "denoising".
    count
        Called as ``count(done, total)`` after each of several fits: from all starts, of parts, and of all rows.
    <name>
    **params
        Further arguments of the method's function: `n_nodes`, `lam`, `sigma`, `preset` ...

    Returns
    -------
    The tree, with a record of the steps before and after its fit.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, the method is none that learns such a tree
        or does not know a parameter, or a parameter is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> X = np.random.default_rng(0).normal(size=(90, 5))
    >>> X[:, 0] += np.linspace(0, 20, 90)
    >>> learned = core.learn_tree(X)
    >>> len(learned.graph.tips)
    2
    >>> learned.transform(X[:2]).shape
    (2, 5)
    """
    for function, argument in ((callback, "callback"), (step, "step"), (count, "count")):
        check.called(function, argument)
    of_method = _method(method)
    _check_known(of_method, params)
    if not check.is_streamed(X) or len(X.shape) != 2:  # else the first step looks through it, which takes a pass
        X = check.matrix(X, name=name, streams=True, largest=check.LARGEST_OF_SQUARES)
    if callable(params.get("init")):
        params["init"] = params["init"](X)
    given = _given(of_method, params)
    # 1. what "auto" stands for
    embeds, center = "n_components" in _arguments(of_method), params.get("center", True)
    d: int | float = 0
    if embeds:
        d = components(n_components, X, given, center=center)
    elif not is_auto(n_components):
        raise ValueError(f"n_components={n_components!r} with method={method!r}, which learns no embedding.")
    smooth, d = denoising(denoise, X, given, n_components=d, center=center, name=name)
    if embeds:
        params["n_components"] = d
    if "name" in _arguments(of_method):
        params["name"] = name

    n_starts, samples, n_nodes = _starts_and_samples(n_starts, of_method, params, given, X.shape[0], smooth is not None)
    fits = Fits(of_method, params, X.shape[0], samples, n_nodes)
    # 2. the steps; of a kernel matrix, some rows are no input of their own
    learned = run_steps(
        X,
        fits.whole,
        fit_part=None if given.kernel is not None else fits.part,
        fit_sample=fits.sample,
        samples=samples,
        denoise=smooth,
        prune=pruning(prune, given),
        n_starts=n_starts,
        rng=rng,
        callback=callback,
        step=step,
        count=count,
    )
    _warn_of_few_tips(prune, len(learned.whole.graph.tips))
    # 3. how to take them again
    recipe = None if given.kernel is not None else Recipe.of(method, learned, center=center)
    return LearnedTree(**{field.name: getattr(learned, field.name) for field in fields(learned)}, recipe=recipe)


def _given(method: Method, params: dict[str, Any]) -> Given:
    """What of a method's parameters was given on which "auto" depends."""
    init = params.get("init")
    return Given(
        preset=params.get("preset"),
        kernel=params.get("kernel"),
        init=init,
        n_nodes=params.get("n_nodes", "auto"),
        sets_nodes=isinstance(init, tuple | DDRTreeFit) or (method.node_space == "input" and init is not None),
    )


def _starts_and_samples(
    n_starts: int | Auto, method: Method, params: dict[str, Any], given: Given, n_obs: int, denoised: bool
) -> tuple[int, list[int], int]:
    """From how many starts trees are learned, of samples of which sizes first, and with how many nodes these."""
    samples, n_nodes = [], 0
    can_go_on = "init" in _arguments(method) and given.init is None and not given.as_it_is
    if denoised and can_go_on:
        n_nodes = n_nodes_of(given.n_nodes, n_obs)
        samples = samples_of(n_obs, n_nodes)
    n_starts = starts(n_starts, given, n_obs, from_samples=bool(samples))
    rounds = params.get("max_iter")
    rounds_are_given = isinstance(rounds, Integral) and rounds != MAX_ITER
    if n_starts > 1 and n_nodes and not samples and not rounds_are_given:  # the tree chosen would get these twice
        samples = all_of_few(n_obs, n_nodes)
    return n_starts, samples, n_nodes


def _warn_of_few_tips(prune: Pruning, there: int) -> None:
    wanted = prune.get("n_tips") if isinstance(prune, Mapping) else None
    if wanted is not None and wanted > there:
        warn(
            f"prune={{'n_tips': {wanted}}}: the tree as it was fitted has {there} tips, so no branch was removed. A "
            "fit with more nodes (`n_nodes`), or one that weighs the length of the tree less, may have more."
        )


def _method(name: str) -> Method:
    known = [method.name for method in METHODS.values() if method.can_be_relearned]
    return METHODS[check.choice(name, "method", known)]


def _arguments(method: Method) -> list[str]:
    return list(inspect.signature(method.fit).parameters)


def _check_known(method: Method, params: dict[str, Any]) -> None:
    known = [argument for argument in _arguments(method) if argument not in _OWN]
    for param in params:
        if param not in known:
            raise TypeError(f"{method.name} has no argument {param!r}. Available: {known}.")
