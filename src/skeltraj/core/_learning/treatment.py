"""Whether noise is made more equal, and tails that may be heavy are compressed: what trees of parts tell."""

from __future__ import annotations

from .parts import Parts

# Chosen by measurement (benchmarks/preparations.py), the second also so that what is known of tumours by few genes
# comes out. Trees that share nothing agree by about .35.
_SURE = 0.7  # parts whose trees agree on forks by as much are right without a look at those with noise as it is
_TELLING = 0.55  # parts whose trees agree by less tell no forks
_CLEAR = 0.2  # value (`choose_tips`) of a line from which on it is one since branches gain next to nothing
_UNCLEAR = 0.2  # value below which parts tell no tree


def is_sure(equal: Parts) -> bool:
    """Whether trees of parts with more equal noise are taken without others: they agree on forks, or have no branches.

    All lines agree, so parts tell a line also where they agree on none of many branches.
    """
    return bool(equal.tips.value[0] >= _CLEAR if equal.are_lines else equal.agreement >= _SURE)


def is_better(equal: Parts, unequal: Parts) -> bool:
    """Whether those with more equal noise are taken, beside those with noise as it is, where they are not sure.

    Of two lines the clearer one is; forks are if the others have some.
    """
    if equal.are_lines and unequal.are_lines:
        return bool(equal.tips.value[0] >= unequal.tips.value[0])
    return not equal.are_lines and not unequal.are_lines and equal.agreement >= _TELLING


def is_unclear(parts: Parts) -> bool:
    """Whether parts tell no tree: they agree on few forks, or on a line only as they agree on none of many branches."""
    return bool(parts.tips.value.max() < _UNCLEAR)
