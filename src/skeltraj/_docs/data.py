"""Texts about the data and the skeleton that a function is given."""

from __future__ import annotations

TEXTS = {
    "adata": """\
adata
    Annotated data.""",
    "adata_fitted": """\
adata
    Annotated data with a fitted skeleton.""",
    "adata_ordered": """\
adata
    Annotated data with ordered cells.""",
    "key": """\
key
    `key_added` of the fit.""",
    "graph": """\
graph
    The skeleton, a :class:`skeltraj.core.Graph`.""",
    "position": """\
position
    Positions of the points on it, as :func:`skeltraj.core.locate` gives them.""",
    "direction_level": """\
Rejection rate of the test at a nominal level of 0.05, for noise that was averaged over 30 neighbours (12 branches of
three simulated trees, 500 draws): 0.04 to 0.05 for vectors and 0.06 to 0.07 for scores if the neighbours over which
they were averaged are given, up to 0.09 and 0.18 with neighbours in another space, and 0.7 to 0.8 if the averages are
treated as values as measured. Permuting stretches of the branches had 0.4: in many dimensions the neighbours of a cell
extend over a large part of its branch.""",
}
