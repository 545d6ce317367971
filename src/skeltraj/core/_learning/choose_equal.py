"""Whether noise is made more equal: what trees of parts tell."""

from __future__ import annotations

from .parts import Parts

# Chosen by measurement (benchmarks/preparations.py), the second also so that what is known of tumours by few genes
# comes out. Trees that share nothing agree by about .35.
_SURE = 0.7  # parts whose trees agree on forks by as much are right without a look at those with noise as it is
_TELLING = 0.55  # parts whose trees agree by less tell no forks
_BY_CHANCE = 0.42  # parts of a line agree by no more on any fork


def is_sure(equal: Parts) -> bool:
    """Whether trees of parts with more equal noise are taken without others: they agree on forks, or on none."""
    if equal.are_lines:
        return bool((equal.tips.agreement[equal.tips.n_tips > 2] <= _BY_CHANCE).all())
    return equal.agreement >= _SURE


def is_better(equal: Parts, unequal: Parts) -> bool:
    """Whether those with more equal noise are taken, beside those with noise as it is, where they are not sure.

    Lines are if the others are lines as well, and forks if the others have some.
    """
    return equal.are_lines == unequal.are_lines and (equal.are_lines or equal.agreement >= _TELLING)
