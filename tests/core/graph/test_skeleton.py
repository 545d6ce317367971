"""How a fit is shown and compared."""

from __future__ import annotations

from samples import forked
from skeltraj import core


def test_results_are_shown_in_a_line():
    fit = core.ddrtree(forked(50)[0])
    assert len(repr(fit).splitlines()) == len(repr(fit.graph).splitlines()) == 1
    assert "nodes in 2 dimensions" in repr(fit)


def test_results_are_compared_as_objects():
    """The arrays inside, which have no one answer to whether they are equal, are not asked."""
    fit, again = (core.ddrtree(forked(50)[0]) for _ in range(2))
    assert [fit, fit.graph].index(fit.graph) == 1
    assert fit != again
    assert fit.graph != again.graph
    assert len({fit, fit, again, fit.graph, again.graph}) == 4
