"""How a fit is shown and compared."""

from __future__ import annotations

from samples import forked
from skeltraj import core


def test_results_are_shown_in_a_line():
    fit = core.ddrtree(forked(50)[0])
    assert len(repr(fit).splitlines()) == len(repr(fit.graph).splitlines()) == 1
    assert "nodes in 2 dimensions" in repr(fit)
    assert fit == fit  # arrays inside do not get in the way
    assert len({fit, fit.graph}) == 2
