"""Whether noise is equalized, and tails that may be heavy are compressed: the decision by trees of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .compress import may_be_heavy
from .denoise import denoise as make_denoised
from .denoised import Denoised
from .fit_group import FitGroup
from .parts import Parts, n_parts
from .samples import Starts

# Chosen by measurement (benchmarks/preparations.py), the second also so that what is known of tumours by few genes
# comes out. Trees that share nothing agree by about .35.
_CERTAIN = 0.7  # parts whose trees agree on forks by as much are right without a look at those with noise as it is
_INFORMATIVE = 0.55  # parts whose trees agree by less tell no forks
_CLEAR = 0.2  # value (`choose_tips`) of a line from which on it is one since branches gain next to nothing
_UNCLEAR = 0.2  # value below which parts tell no tree


def is_sure(equal: Parts) -> bool:
    """Whether trees of parts with equalized noise are taken without others: they agree on forks, or have no branches.

    Any two lines agree on their one branch. So parts whose trees agree on nothing are taken for lines too, and for
    lines the value counts instead.
    """
    return bool(equal.tips.value[0] >= _CLEAR if equal.are_lines else equal.agreement >= _CERTAIN)


def is_better(equal: Parts, unequal: Parts) -> bool:
    """Whether trees with equalized noise are preferred to those with noise as it is, if they are not certain alone.

    Of two lines, the clearer one is; forks are if the others have some, too.
    """
    if equal.are_lines and unequal.are_lines:
        return bool(equal.tips.value[0] >= unequal.tips.value[0])
    return not equal.are_lines and not unequal.are_lines and equal.agreement >= _INFORMATIVE


def is_unclear(parts: Parts) -> bool:
    """Whether parts show no tree: they agree on few forks, or are lines as they agree on none of many branches."""
    return bool(parts.tips.value.max() < _UNCLEAR)


class ChosenDenoising(NamedTuple):
    """The input as it was denoised, the trees of its parts, and the starts of its fit, which may have been begun."""

    smooth: Denoised
    parts: Parts
    starts: Starts | None


def choose_denoising(
    X: Any,
    smooth: Denoised,
    denoise: Mapping[str, Any],
    learn: Callable[..., Parts],
    starts_of: Callable[[Denoised], Starts | None],
    fit_group: FitGroup,
) -> ChosenDenoising:
    """Denoise as the trees of parts decide; see `run_steps`.

    Most inputs stay as they were denoised first. Therefore the fits are started alongside, and abandoned if they do
    not.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    smooth
        How it was denoised first, with `denoise`.
    denoise
        Arguments of `denoise`.
    learn
        Learns trees from parts of the rows as they were denoised; called with that, and perhaps with `alongside` and
        `on_parts` of `learn_parts`.
    starts_of
        Makes the fits from all starts, not yet begun; None: they are not known before the parts are.
    fit_group
        Counts the trees of parts: those of both ways, if they decide whether noise is equalized.
    """
    n_trees = n_parts(X.shape[0])
    asks = denoise.get("equalize") == "auto" and smooth.equalized
    may_compress = denoise.get("compress") == "auto" and denoise.get("equalize") is not True
    first, sure, stays = smooth, False, False

    def is_heavy(parts: Parts, smooth: Denoised) -> bool:
        return may_compress and not smooth.compressed and is_unclear(parts) and may_be_heavy(smooth.reference)

    def decide(parts: Parts) -> None:
        nonlocal sure, stays
        sure = not asks or is_sure(parts)
        stays = sure and not is_heavy(parts, first)
        if asks and sure:
            fit_group.expect(-n_trees)
        if starts is not None and not stays:
            starts.give_up()

    starts = starts_of(first)
    parts = learn(first, alongside=[] if starts is None else starts.tasks, on_parts=decide)
    if stays:
        return ChosenDenoising(first, parts, starts)
    if starts is not None:
        starts.discard()
    if not sure:
        unequal = make_denoised(X, **{**denoise, "equalize": False, "compress": False})
        others = learn(unequal)
        if not is_better(parts, others):
            parts, smooth = others, unequal
    if is_heavy(parts, smooth):
        fit_group.expect(n_trees)
        smooth = make_denoised(X, **{**denoise, "equalize": False, "compress": True})
        parts = learn(smooth)
    return ChosenDenoising(smooth, parts, starts_of(smooth))
