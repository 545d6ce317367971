"""The whole recipe in one call: the input denoised, a tree learned from several starts, and pruned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._branches.doubts import Evidence
from skeltraj.core._branches.starts import between_ends
from skeltraj.core._graph.graph import Graph
from skeltraj.core._methods.ddrtree import DDRTreeFit
from skeltraj.core._methods.register import METHODS, Method
from skeltraj.core._nodes.settings import n_nodes_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto, is_auto
from skeltraj.core._runtime.threads import computing, interruptible
from skeltraj.core._solvers.descent import Callback

from .ingest import Reference
from .learned import Learned
from .options import Given, Pruning, Setting, components, denoising, pruning, starts
from .recipe import Recipe
from .samples import all_of_few, samples_of
from .steps import run_steps

_OWN = ("X", "n_components", "rng", "callback", "name")  # arguments of a method that `learn_tree` has itself


@dataclass(frozen=True, repr=False, eq=False)
class LearnedTree(Learned, Printed):
    """A tree, with a record of the steps before and after its fit.

    Parameters
    ----------
    fit
        The tree after pruning, in the columns of the input, as the method's function returns it: `DDRTreeFit` or
        `PrincipalFit`.
    whole
        The same before pruning.
    smooth
        How the input was denoised; None: not at all.
    pruning
        What was pruned, with the gain of each removed branch; None: pruning was not tried.
    agreement
        For each start, how similar its tree is to the others, from starts and from parts of the rows, (n_starts,): the
        mean F1 of their branches as divisions of the rows. The tree with the largest is taken. None: there were no
        others.
    tips
        How the number of tips was chosen; None: it was not.
    recipe
        The steps with their parameters as resolved, to learn the tree again, as `stability` does. None for a kernel
        matrix.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> X = st.datasets.distorted_s(150).X
    >>> learned = core.learn_tree(X, n_starts=1, prune=False)
    >>> learned.graph.is_tree, len(learned.graph.tips)
    (True, 2)
    >>> learned.embedding.shape, learned.transform(X[:5]).shape
    ((150, 2), (5, 2))
    """

    recipe: Recipe | None = None

    @property
    def graph(self) -> Graph:
        """The tree that is left as an object: tips, forks, branches."""
        return self.fit.graph

    @property
    def nodes(self) -> np.ndarray:
        """Its nodes, (n_nodes, n_components)."""
        return self.fit.nodes

    @property
    def edges(self) -> np.ndarray:
        """Pairs of nodes that it joins, (n_nodes - 1, 2)."""
        return self.fit.edges

    @property
    def embedding(self) -> np.ndarray:
        """Where the rows lie among the nodes, (n_obs, n_components)."""
        return self.fit.embedding

    @property
    def assignment(self) -> sparse.csr_matrix:
        """Share of each row in each node, (n_obs, n_nodes); rows sum to 1."""
        return self.fit.assignment

    @property
    def doubt(self) -> str | None:
        """What speaks against the tree as it is, in words.

        Trees from other starts and from parts of the rows differ, most of them lack a branch, or they leave the number
        of tips in doubt; for a line, they order the rows differently, or its ends are near each other. None: nothing
        speaks against it, or there were no trees from other starts.
        """
        if self.agreement is None or len(self.agreement) == 1:
            return None
        choice, starts = self.tips, self.starts
        evidence = Evidence(
            agreement=float(self.agreement.max()),
            branches=self.graph.branch_names.tolist(),
            found=None if starts is None else starts.found,
            values={} if choice is None else dict(zip(choice.n_tips.tolist(), choice.value.tolist(), strict=True)),
            order=float("nan") if starts is None else starts.order,
            ends=between_ends(self.graph),
            rows="rows",
        )
        of_branches, of_line = evidence.of_branches(), evidence.of_line()
        texts = []
        if of_branches is not None:
            texts.append(f"{of_branches.text} {of_branches.advice}. core.stability judges each branch.")
        if of_line is not None:
            texts.append(of_line.text)
        return " Also, ".join(texts) if texts else None

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where new rows come to lie among the nodes: denoised as those fitted, then held by the tree.

        Parameters
        ----------
        X
            (n_new, n_features), dense or sparse, in the units of the input.

        Returns
        -------
        (n_new, n_components). Most rows of the input come out as in `embedding`; see `DDRTreeFit.transform` for those
        that do not.
        """
        X = check.matrix(X, min_obs=1)
        if self.fit.node_space == "input" and X.shape[1] != self.nodes.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {self.nodes.shape[1]}.")
        reference = Reference(self.fit, self.embedding, self.whole.nodes, self.smooth, self.pruning)
        return reference.held(reference.smoothed(X))[0]


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
    fits = _Fits(of_method, params, X.shape[0], samples, n_nodes)
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
    rounds_are_given = isinstance(rounds, Integral) and rounds != _default(method, "max_iter")
    if n_starts > 1 and n_nodes and not samples and not rounds_are_given:  # the tree chosen would get these twice
        samples = all_of_few(n_obs, n_nodes)
    return n_starts, samples, n_nodes


@dataclass(frozen=True, eq=False)
class _Fits:
    """Fits by a method.

    Parameters
    ----------
    method, params
        The method, and its parameters for all rows.
    n_obs
        How many rows these are.
    samples, n_nodes
        Sizes of the samples, of which there may be none, and how many nodes their trees have.
    """

    method: Method
    params: dict[str, Any]
    n_obs: int
    samples: list[int]
    n_nodes: int

    def whole(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of all rows; with `init` it begins there."""
        more = {} if init is None else {"init": init}
        return self.method.fit(matrix, **(self.params | more), rng=rng, callback=callback)

    def part(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of some of the rows, to be compared with others."""
        return self.method.fit(matrix, **self._to_compare(matrix.shape), rng=rng, callback=callback)

    def sample(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any:
        """A fit of a sample, to be compared with others; with `init` that which goes on there."""
        if init is None:
            params = self._to_compare(matrix.shape) | {"n_nodes": self.n_nodes}
        else:
            params = self._of_some(matrix.shape) | {"init": init}
        return self.method.fit(matrix, **params, rng=rng, callback=callback)

    def _to_compare(self, shape: tuple[int, int]) -> dict[str, Any]:
        of_some = self._of_some(shape)
        # without samples all fits are alike, and one of them is the result
        return self.method.roughly(of_some) if self.samples else of_some

    def _of_some(self, shape: tuple[int, int]) -> dict[str, Any]:
        """Arguments for some of the rows: no start is given, and few rows span fewer dimensions and have fewer nodes.

        The length of the tree weighs as much against their errors as against those of all rows.
        """
        params, method = self.params, self.method
        of_some = {name: value for name, value in params.items() if name != "init"}
        for name, most in (("n_components", min(shape[0] - 1, shape[1])), ("n_nodes", shape[0])):
            if isinstance(params.get(name), Integral):
                of_some[name] = min(params[name], most)
        weight, share = params.get(method.length_weight), shape[0] / self.n_obs
        if isinstance(weight, Real) and 0 < float(weight) < np.inf:  # what is wrong is told as it was given
            of_some[method.length_weight] = weight / share if method.weighs_rows else weight * share
        return of_some


def _method(name: str) -> Method:
    known = [method.name for method in METHODS.values() if method.can_be_relearned]
    return METHODS[check.choice(name, "method", known)]


def _arguments(method: Method) -> list[str]:
    return list(inspect.signature(method.fit).parameters)


def _default(method: Method, argument: str) -> Any:
    return inspect.signature(method.fit).parameters[argument].default


def _check_known(method: Method, params: dict[str, Any]) -> None:
    known = [argument for argument in _arguments(method) if argument not in _OWN]
    for param in params:
        if param not in known:
            raise TypeError(f"{method.name} has no argument {param!r}. Available: {known}.")
