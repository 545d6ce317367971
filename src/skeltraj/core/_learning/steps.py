"""The steps by which a tree is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._solvers.descent import Callback

from .choose_denoising import choose_denoising
from .denoise import denoise as make_denoised
from .denoised import Denoised
from .fit_group import FitGroup
from .learned import Fitting, Learned, most_alike, pruned, rows_in_memory, unit_of
from .parts import Parts, learn_parts, n_parts, with_chosen_tips
from .samples import Samples, Starts


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
    resampled: np.ndarray | None = None,
    n_starts: int = 1,
    rng: Any = 0,
    callback: Callback | None = None,
    step: Callable[[str], object] | None = None,
    count: Callable[[int, int], object] | None = None,
) -> Learned:
    """Denoise, fit, prune; from several starts, take the tree that is most similar to the others.

    Starts end early, use a sample if there are many rows, and the fit of all rows begins where the chosen tree ended,
    so it takes few rounds.

    A fit ends in an optimum near its start. Branches that the data call for are found from most starts, others from
    some: so the tree is taken whose branches, as divisions of the rows, have the largest mean `agreement` with those of
    the other trees, after pruning. Unless a limit on gains is given, trees are also learned from parts of the rows,
    which count among the others; and the number of tips, if not given, is that by which `choose_tips` finds them agree.
    (Few rows have no parts; from one start, the limit of `prune` then serves.)

    If "auto" leaves it to them, trees of parts also decide whether noise is equalized before the fit; with a limit on
    gains they are learned only for that. It is equalized if they then agree on forks by .7, or are lines whose value is
    .2 (`choose_tips`). Otherwise they are also learned with noise as it is, and it is equalized if both are lines and
    the former's value is not smaller, or if both have forks and the former agree by .55. If the trees taken show no
    tree (no value is .2), moderately heavy tails are compressed instead; very heavy ones are compressed without
    consulting these trees.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    fit
        Fits X, or the denoised X.
    fit_part
        The same for some of the rows. None: no trees are learned from parts.
    fit_sample
        The same for a sample, with as many nodes as for all rows.
    samples
        Sizes of the samples, ascending (`samples_of`), or of one that is all rows, where the input is denoised; none:
        the fit of all rows does not begin where another ended.
    denoise
        Arguments of `denoise`, of which `equalize` may be "auto": the trees of parts decide; without them, and if heavy
        tails are compressed, False. None: not at all.
    prune
        Arguments of `pruned`; None: not at all.
    resampled
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
    announce = step or (lambda name: None)
    chooses = _chooses_tips(prune)
    with_parts = (chooses or _parts_decide(denoise, prune)) and fit_part is not None and n_parts(X.shape[0]) > 0
    # 1. denoising before the fit; if the parts decide, with noise equalized or as it is
    smooth: Denoised | None = None
    undecided = False
    if denoise is not None:
        announce("denoising")
        if denoise.get("equalize") == "auto" and not with_parts:
            denoise = {**denoise, "equalize": False}
        smooth = make_denoised(X, **denoise)
        with_parts = with_parts and (chooses or not smooth.compressed)  # very heavy tails leave nothing to tell
        undecided = denoise.get("equalize") == "auto" and smooth.equalized
    n_trees = n_parts(X.shape[0]) if with_parts else 0
    fit_group = FitGroup(count, 0 if n_starts == 1 else n_starts + bool(samples) + (1 + undecided) * n_trees)

    def of_parts(X: Any, smooth: Denoised | None, points: Any, unit: float, **alongside: Any) -> Parts:
        assert fit_part is not None
        resolution = (prune or {}).get("resolution")
        return learn_parts(
            X, smooth, points, unit, fit_part, denoise, fit_group, rng=rng, resolution=resolution, **alongside
        )

    def starts_of(smooth: Denoised) -> Starts | None:
        if not samples:
            return None
        assert fit_sample is not None
        some = Samples(smooth.values, samples, unit_of(smooth.reference), fit_sample, fit_group)
        return Starts(some, seeds, fit_group) if some.differ else None

    parts: Parts | None = None
    starts: Starts | None = None
    if smooth is not None and with_parts:
        learn = lambda smooth, **alongside: of_parts(X, smooth, smooth.values, unit_of(smooth.reference), **alongside)
        smooth, parts, starts = choose_denoising(X, smooth, denoise or {}, learn, starts_of, fit_group)
    elif smooth is not None:
        starts = starts_of(smooth)
    values = X if smooth is None else smooth.values
    if resampled is not None:
        X, values = X[resampled], values[resampled]
        smooth = None if smooth is None else replace(smooth, values=values)
    # 2. the fits from all starts, and what is left of their trees
    fits = _Fits(X, values, smooth, fit, prune, seeds, fit_group, callback, announce, resampled)
    if starts is not None:
        return fits.from_samples(starts, parts)
    whole = fits.of_all_rows()
    if not chooses or (n_starts == 1 and not with_parts):
        return fits.chosen(whole)
    if parts is None and with_parts:
        parts = of_parts(X, None, whole[0].whole.embedding, unit_of(whole[0].whole.nodes))
    fits.announce_pruning()
    return with_chosen_tips(whole, X, parts, **(prune or {}))


def _chooses_tips(prune: Mapping[str, Any] | None) -> bool:
    """Whether that tree is taken which has as many tips as are asked for, or as the trees agree on: no gain decides."""
    return prune is not None and "min_gain" not in prune


def _parts_decide(denoise: Mapping[str, Any] | None, prune: Mapping[str, Any] | None) -> bool:
    """Whether the trees of parts decide how the input is denoised."""
    if denoise is None or prune is None:
        return False
    choices = denoise.get("equalize"), denoise.get("compress")
    return "auto" in choices and True not in choices


@dataclass(frozen=True, eq=False)
class _Fits:
    """The fits from all starts, and what is left of their trees.

    Parameters
    ----------
    X, values
        The rows as measured, and as they are fitted.
    smooth
        How the one was made of the other; None: they are the same.
    fit, prune, callback
        As `run_steps` takes them.
    seeds
        Of the starts.
    fit_group
        Counts the fits, and stops them.
    announce
        Called with the name of each step as it begins.
    source
        Which row each row of `X` is a copy of; None: there are no copies.
    """

    X: Any
    values: Any
    smooth: Denoised | None
    fit: Fitting
    prune: Mapping[str, Any] | None
    seeds: Sequence[Any]
    fit_group: FitGroup
    callback: Callback | None
    announce: Callable[[str], object]
    source: np.ndarray | None = None

    @property
    def one(self) -> bool:
        """Whether there is one start."""
        return len(self.seeds) == 1

    def announce_pruning(self) -> None:
        """Say that pruning begins; of several starts this is said by the count of their fits."""
        if self.one:
            self.announce("pruning")

    def of_all_rows(self) -> list[Learned]:
        """A fit of all rows from each start, not pruned."""
        stopped = self._stopped if self.one else self.fit_group.stopped

        def from_start(seed: Any) -> Learned:
            tree = self._learned(self.fit(self.values, stopped, rng=seed))
            self.fit_group.add()
            return tree

        return ordered_map(from_start, self.seeds, stop=self.fit_group.stop)

    def from_samples(self, starts: Starts, parts: Parts | None) -> Learned:
        """The fit of all rows that begins where, of the trees of a sample, the one chosen ended."""
        some, trees, chooses = starts.samples, starts.trees(), _chooses_tips(self.prune)
        whole = [self._learned(tree) for tree in trees]

        def final(i: int) -> Learned:
            rng = self.seeds[0]
            tree = self._learned(self.fit(self.values, self._stopped, rng=rng, init=some.last(trees[i], rng).as_init))
            self.fit_group.add()
            if chooses:
                self.announce_pruning()
            return tree

        if chooses:
            return with_chosen_tips(whole, self.X, parts, final=final, **(self.prune or {}))
        if self.one:
            return self._left(final(0), self.X)
        rows, tried = some.rows[0], whole
        if self.prune is not None:
            measured = rows_in_memory(self.X, rows)
            tried = ordered_map(lambda tree: self._left(tree, measured), whole)
        return most_alike(tried, lambda i: (self._left(final(i), self.X), rows))

    def chosen(self, whole: list[Learned]) -> Learned:
        """Of fits of all rows that whose tree, as far as it is left, is most like those of the others."""
        tried = ordered_map(lambda tree: self._left(tree, self.X), whole)
        return tried[0] if self.one else most_alike(tried)

    def _stopped(self, *round_and_objective: Any) -> bool:
        """Whether the fits were stopped, after the user's callback: that of the one fit that the user follows."""
        if self.callback is not None and self.callback(*round_and_objective):
            self.fit_group.stop.set()  # the other fits are stopped as well
        return self.fit_group.stopped()

    def _learned(self, tree: Any) -> Learned:
        if self.smooth is not None:
            tree = replace(self.smooth.lifted(tree), params=tree.params | {"denoise": self.smooth.n_neighbors})
        return Learned(tree, tree, self.smooth)

    def _left(self, whole: Learned, measured: Any) -> Learned:
        if self.prune is None:
            return whole
        self.announce_pruning()
        return pruned(whole, measured, **self.prune, source=self.source)
