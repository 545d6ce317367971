"""Trees of parts of the rows, which show how many of the branches the data call for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np

from skeltraj.core._branches.nested import Nested, nested_trees
from skeltraj.core._branches.starts import same_order, start_support
from skeltraj.core._branches.tips import TipChoice, alike_with, choose_tips
from skeltraj.core._data.sample import drawn, shuffled
from skeltraj.core._nodes.start import neighbor_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import ordered_map

from .denoise import denoise as make_denoised
from .denoised import Denoised
from .fit_group import FitGroup
from .learned import (
    MAX_JUDGES,
    Fitting,
    Learned,
    branches_of_rows,
    judged,
    judges,
    line,
    pruned,
    resolution_of,
    rows_in_memory,
    tree_among,
)

_N_DIVISIONS = 2  # of the rows in two parts; four trees cost about as much as two of all rows
_MOST_ROWS = 3000  # of a part: enough for a tree, so that parts of many rows take no longer; chosen by eye
_FEWEST_ROWS = 30  # of a part from which a tree is learned; chosen by eye


def n_parts(n_obs: int) -> int:
    """How many trees are learned from parts of that many rows."""
    return 2 * _N_DIVISIONS if n_obs // 2 >= _FEWEST_ROWS else 0


@dataclass(frozen=True, eq=False)
class Parts:
    """Trees of parts of the rows.

    Parameters
    ----------
    nested
        The trees through which pruning passes, of each part, with the places of the same rows on them.
    rows
        Numbers of these rows, ascending.
    measured
        These rows of the input, not denoised.
    """

    nested: list[dict[int, Nested]]
    rows: np.ndarray
    measured: Any

    @cached_property
    def tips(self) -> TipChoice:
        """How well the parts' trees agree with one another, and the number of tips that they suggest.

        They may be lines because they agree on no fork, which tells how to denoise.
        """
        return choose_tips(self.nested, [], any_line=True)

    @property
    def agreement(self) -> float:
        """Of the trees with one another, with that number of tips: 1 for lines."""
        return float(self.tips.agreement[self.tips.n_tips == self.tips.chosen][0])

    @property
    def are_lines(self) -> bool:
        """Whether they have no fork."""
        return self.tips.chosen <= 2


def learn_parts(
    X: Any,
    smooth: Denoised | None,
    points: Any,
    unit: float,
    fit: Fitting,
    denoise: Mapping[str, Any] | None,
    fit_group: FitGroup,
    *,
    rng: Any = 0,
    resolution: float | None = None,
    alongside: Sequence[Callable[[], object]] = (),
    on_parts: Callable[[Parts], object] | None = None,
) -> Parts:
    """Learn the trees of parts of the rows.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    smooth
        How it was denoised. Parts are denoised by themselves, in the components in which all rows were.
    points, unit
        The rows, denoised or in an embedding, (n_obs, d), and a length that goes with their units: by these the parts
        are drawn, and the rows by which trees are judged.
    fit
        Makes a fit of some of the rows, or of what was made of them.
    denoise
        Arguments with which X was denoised; None: it was not.
    fit_group
        Counts the fits.
    rng
        Seed of these. For a generator 0: this may be called twice, and the trees of both calls are compared.
    resolution
        See `prune`.
    alongside
        Tasks for threads that find no part left.
    on_parts
        Called with the trees once all are learned, while the tasks `alongside` may still run: it can end these.
    """
    rows = drawn(points, MAX_JUDGES, unit)
    measured = rows_in_memory(X, rows)
    seen = measured if smooth is None else smooth.scores(measured)

    def of_part(chosen: np.ndarray, seed: Any) -> dict[int, Nested]:
        values, smoothed = rows_in_memory(X, chosen), None
        if smooth is not None:
            shape = len(chosen), seen.shape[1]
            smoothed = make_denoised(smooth.scores(values), **_of_part(denoise or {}, X.shape[0], shape))
            values = smoothed.values
        tree = fit(values, fit_group.stopped, rng=seed)
        tree = tree if smoothed is None else smoothed.lifted(tree)
        learned = Learned(tree, tree, smoothed)
        place = np.minimum(np.searchsorted(chosen, rows), len(chosen) - 1)
        known = np.where(chosen[place] == rows, place, -1)
        nested = _nested(learned, seen, learned.place(seen, known), resolution)
        fit_group.add()
        return nested

    chosen = _parts(points, X.shape[0], unit)
    seeds = check.generator(0 if isinstance(rng, np.random.Generator) else rng).spawn(len(chosen))
    nested: dict[int, dict[int, Nested]] = {}
    learned: list[Parts] = []
    lock = Lock()

    def of_number(i: int) -> None:
        tree = of_part(chosen[i], seeds[i])
        with lock:
            nested[i] = tree
            if len(nested) < len(chosen):
                return
        learned.append(Parts([nested[i] for i in range(len(chosen))], rows, measured))
        if on_parts is not None:
            on_parts(learned[0])

    work: list[Callable[[], object]] = [*(partial(of_number, i) for i in range(len(chosen))), *alongside]
    ordered_map(lambda task: task(), work, stop=fit_group.stop)
    return learned[0]


def with_chosen_tips(
    starts: list[Learned],
    X: Any,
    parts: Parts | None,
    *,
    final: Callable[[int], Learned] | None = None,
    n_tips: int | None = None,
    resolution: float | None = None,
) -> Learned:
    """The tree of the start that is most like all others, with the number of tips asked for, or on which they agree.

    Parameters
    ----------
    starts
        Trees from different starts, not pruned.
    X
        Their input, (n_obs, n_features).
    parts
        Trees of parts of its rows; None: the starts are compared with each other.
    final
        Gives the tree of all rows, not pruned, that takes the place of the one chosen, by its number; the starts may
        then be trees of a sample of the rows. None: it is the tree itself.
    n_tips
        The number of tips; None: it is chosen.
    resolution
        See `prune`.
    """
    if parts is None:
        rows = judges(starts[0].whole)
        parts = Parts([], rows, rows_in_memory(X, rows))
    others = parts.nested

    def of_all(learned: Learned) -> dict[int, Nested]:
        return _nested(learned, parts.measured, rows_in_memory(learned.whole.embedding, parts.rows), resolution)

    if len(starts[0].whole.embedding) == X.shape[0]:
        nested = ordered_map(of_all, starts)
    else:
        denoised = starts[0].denoised(parts.measured)  # alike for all
        of_sample = lambda one: _nested(one, parts.measured, one.whole.transform(denoised), resolution)
        nested = ordered_map(of_sample, starts)
    choice = None
    if n_tips is None:
        choice = choose_tips(nested, others)
        n_tips = choice.chosen
    alike = alike_with(nested, others, _nearest(set().union(*nested), n_tips))
    best = int(alike.argmax())
    left = pruned(starts[best] if final is None else final(best), X, n_tips=n_tips, resolution=resolution)
    rest = [trees[_nearest(trees, n_tips)] for i, trees in enumerate((*nested, *others)) if i != best]
    divisions = [branches_of_rows(left, parts.rows), *(tree.division for tree in rest)]
    order = same_order([line(left, parts.rows), *(tree.line for tree in rest)], 0)
    return replace(left, agreement=alike, starts=replace(start_support(divisions, 0), order=order), tips=choice)


def _nearest(numbers: Iterable[int], n_tips: int) -> int:
    """Of numbers of tips, `n_tips` or that nearest to it."""
    return min(numbers, key=lambda k: (abs(k - n_tips), k))


def _parts(points: Any, n_obs: int, unit: float) -> list[np.ndarray]:
    """Numbers of the rows of each part, ascending: disjoint halves of all rows, or as many as are enough."""
    size = min(n_obs // 2, _MOST_ROWS)
    parts = []
    for i in range(n_parts(n_obs) // 2):
        order = shuffled(points, 2 * size, unit, i)
        parts += [np.sort(order[:size]), np.sort(order[size : 2 * size])]
    return parts


def _of_part(denoise: Mapping[str, Any], n_obs: int, shape: tuple[int, int]) -> dict[str, Any]:
    """Arguments of `denoise` for scores of some of the rows, in which noise is equal, or tails compressed, already."""
    arguments = dict(denoise) | {"n_components": shape[1], "equalize": False, "compress": False, "center": False}
    if arguments.get("n_neighbors") is not None:
        # in proportion as by default, so that to name the default changes nothing
        share = neighbor_of(shape[0]) / neighbor_of(n_obs)
        arguments["n_neighbors"] = int(np.clip(round(share * arguments["n_neighbors"]), 1, shape[0] - 1))
    return arguments


def _nested(learned: Learned, rows: Any, points: np.ndarray, resolution: float | None) -> dict[int, Nested]:
    """The trees through which pruning passes, judged by rows as measured, at their places among the nodes."""
    nodes, points, data = judged(learned, rows, np.asarray(points, dtype=np.float64))
    graph = tree_among(nodes, learned.whole)
    return nested_trees(graph, points, data, resolution=resolution_of(learned.whole, resolution))
