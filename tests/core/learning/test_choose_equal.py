"""Which trees of parts are taken: those with more equal noise, or with noise as it is."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._branches.tips import TipChoice
from skeltraj.core._learning.choose_equal import is_better, is_sure
from skeltraj.core._learning.parts import Parts


def told(chosen, *agreement, line=0.1):
    """Parts that agree so well with 2, 3, ... tips, and tell so many; and the value of a line."""
    parts = Parts([], np.arange(0), None)
    n_tips = np.arange(2, 2 + len(agreement))
    parts.__dict__["tips"] = TipChoice(n_tips, np.array(agreement), n_tips * 0.0, line / (n_tips - 1), chosen)
    return parts


@pytest.mark.parametrize(
    ("parts", "sure"),
    [
        (told(3, 1.0, 0.7, 0.5), True),
        (told(3, 1.0, 0.69, 0.9), False),
        (told(4, 1.0, 0.9, 0.71), True),
        (told(2, 1.0, 0.5, line=0.2), True),
        (told(2, 1.0, 0.9, line=0.19), False),
    ],
)
def test_what_tells_by_itself(parts, sure):
    assert is_sure(parts) is sure


@pytest.mark.parametrize(
    ("equal", "unequal", "better"),
    [
        (told(2, 1.0, 0.5, line=0.15), told(2, 1.0, 0.5, line=0.15), True),
        (told(2, 1.0, 0.5, line=0.15), told(2, 1.0, 0.5, line=0.16), False),
        (told(2, 1.0, 0.5), told(3, 1.0, 0.5), False),
        (told(3, 1.0, 0.6), told(2, 1.0, 0.5), False),
        (told(3, 1.0, 0.55), told(4, 1.0, 0.9, 0.8), True),
        (told(3, 1.0, 0.54), told(4, 1.0, 0.5, 0.4), False),
    ],
)
def test_what_tells_beside_the_others(equal, unequal, better):
    assert is_better(equal, unequal) is better
