"""The steps by which a tree is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._solvers.descent import Callback

from .denoise import Denoised
from .denoise import denoise as make_denoised
from .learned import Fitting, Learned, most_alike, pruned, rows_of, scale
from .parts import Parts, Together, learn_parts, n_parts, with_chosen_tips
from .samples import Samples, Starts
from .treatment import treated


def scale_of(smooth: Denoised) -> float:
    """A length that goes with the units of the rows."""
    return float(np.sqrt(np.mean(smooth.reference**2)))


@computing()
def run_steps(
    X: Any,
    fit: Fitting,
    *,
    fit_part: Fitting | None = None,
    fit_sample: Fitting | None = None,
    samples: Sequence[int] = (),
    denoise: Mapping[str, Any] | None = None,
    prune: Mapping[str, Any] | None = None,
    again: np.ndarray | None = None,
    n_starts: int = 1,
    rng: Any = 0,
    callback: Callback | None = None,
    step: Callable[[str], object] | None = None,
    count: Callable[[int, int], object] | None = None,
) -> Learned:
    """Denoise, fit, prune; from several starts, the tree that is most like those of the others.

    Starts end early, those of many rows are of a sample, and the fit of all rows begins where the tree chosen ended. So
    this takes few rounds.

    A fit ends in an optimum near its start. Branches that the data call for are found from most starts, others from
    some: so the tree is taken whose branches, as divisions of the rows, have the largest mean `agreement` with those of
    the other trees, after pruning. Unless a limit on gains is given, trees are also learned from parts of the rows,
    which count among the others; and the number of tips, if not given, is that by which `choose_tips` finds them agree.
    (Few rows have no parts; from one start, the limit of `prune` then serves.)

    Where it is left to them, trees of parts tell as well whether noise is made more equal before the fit; with a limit
    on gains they are learned for that alone. It is if they then agree on forks by .7, or are lines whose value is .2
    (`choose_tips`). Else they are learned with noise as it is, too, and it is made more equal if both are lines and the
    former's value is not smaller, or both have forks and the former agree by .55. If those taken tell no tree (no value
    is .2), tails that are somewhat heavy are compressed instead, as very heavy ones are without a look at these trees.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    fit
        Makes a fit of X, or of what was made of it.
    fit_part
        The same of some of the rows. None: no trees are learned from parts.
    fit_sample
        The same of a sample, with as many nodes as all rows have.
    samples
        Sizes of the samples, ascending (`samples_of`), or of one that is all rows, where the input is denoised; none:
        the fit of all rows does not begin where another ended.
    denoise
        Arguments of `denoise`, of which `equalize` may be "auto": the trees of parts tell; without them, and where
        heavy tails are compressed, False. None: not at all.
    prune
        Arguments of `pruned`; None: not at all.
    again
        Rows of X from which to learn, in this order, some more than once; None: all, as they are. The steps before the
        fit see each row of X once, since copies would be each other's neighbours.
    n_starts
        From how many starts.
    rng
        Seed or generator of several starts: the first has it as it is, the others what it spawns.
    callback
        Passed to the fit of all rows, if there is one start or there are samples. If it stops that, all fits end.
    step
        Called with the name of each other step as it begins.
    count
        Called as ``count(done, total)`` after each of several fits.
    """
    seeds = [rng, *check.generator(rng).spawn(n_starts - 1)]
    announce = step or (lambda what: None)
    one, compares = n_starts == 1, prune is not None and "min_gain" not in prune
    asked = () if prune is None or denoise is None else (denoise.get("equalize"), denoise.get("compress"))
    asks = "auto" in asked and True not in asked
    with_parts = (compares or asks) and fit_part is not None and n_parts(X.shape[0]) > 0
    # 1. what is made of the input before the fit; where the parts are to tell, with noise made more equal or as it is
    smooth: Denoised | None = None
    undecided = False
    if denoise is not None:
        announce("denoising")
        if denoise.get("equalize") == "auto" and not with_parts:
            denoise = {**denoise, "equalize": False}
        smooth = make_denoised(X, **denoise)
        with_parts = with_parts and (compares or not smooth.compressed)  # very heavy tails leave nothing to tell
        undecided = denoise.get("equalize") == "auto" and smooth.equalized
    n_trees = n_parts(X.shape[0]) if with_parts else 0
    together = Together(count, 0 if one else n_starts + bool(samples) + (1 + undecided) * n_trees)

    def trees_of_parts(way: Denoised | None, points: Any, unit: float, **meanwhile: Any) -> Parts:
        assert fit_part is not None
        resolution = (prune or {}).get("resolution")
        return learn_parts(
            X, way, points, unit, fit_part, denoise, together, rng=rng, resolution=resolution, **meanwhile
        )

    def starts_of(way: Denoised) -> Starts | None:
        if not samples:
            return None
        assert fit_sample is not None
        some = Samples(way.values, samples, scale_of(way), fit_sample, together)
        return Starts(some, seeds, together) if some.differ else None

    parts: Parts | None = None
    starts: Starts | None = None
    if smooth is not None and with_parts:
        learn = lambda way, **meanwhile: trees_of_parts(way, way.values, scale_of(way), **meanwhile)
        smooth, parts, starts = treated(X, smooth, denoise or {}, learn, starts_of, together)
    elif smooth is not None:
        starts = starts_of(smooth)
    values = X if smooth is None else smooth.values
    if again is not None:
        X, values = X[again], values[again]
        smooth = None if smooth is None else replace(smooth, values=values)

    # 2. the fits from all starts, and what is left of their trees
    def told(*round_and_objective: Any) -> bool:
        if callback is not None and callback(*round_and_objective):
            together.stop.set()  # the other fits are stopped as well
        return together.stopped()

    def learned(tree: Any) -> Learned:
        if smooth is not None:
            tree = replace(smooth.lifted(tree), params=tree.params | {"denoise": smooth.n_neighbors})
        return Learned(tree, tree, smooth)

    def left(whole: Learned, measured: Any) -> Learned:
        if one and prune is not None:
            announce("pruning")
        return whole if prune is None else pruned(whole, measured, **prune)

    if starts is not None:
        some, trees = starts.samples, starts.trees()
        whole = [learned(tree) for tree in trees]

        def final(i: int) -> Learned:
            tree = learned(fit(values, told, rng=rng, init=some.last(trees[i], rng).as_init))
            together.add()
            if one and compares:
                announce("pruning")
            return tree

        if compares:
            return with_chosen_tips(whole, X, parts, final=final, **(prune or {}))
        if one:
            return left(final(0), X)
        rows = some.rows[0]
        tried = whole
        if prune is not None:
            measured = rows_of(X, rows)
            tried = ordered_map(lambda tree: left(tree, measured), whole)
        return most_alike(tried, lambda i: (left(final(i), X), rows))

    def from_start(seed: Any) -> Learned:
        tree = learned(fit(values, told if one else together.stopped, rng=seed))
        together.add()
        return tree

    whole = ordered_map(from_start, seeds, stop=together.stop)
    if not compares or (one and not with_parts):
        tried = ordered_map(lambda tree: left(tree, X), whole)
        return tried[0] if one else most_alike(tried)
    if parts is None and with_parts:
        parts = trees_of_parts(None, whole[0].whole.embedding, scale(whole[0].whole))
    if one:
        announce("pruning")
    return with_chosen_tips(whole, X, parts, **(prune or {}))
