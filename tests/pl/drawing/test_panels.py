"""Panels with legends and colour bars: each beside its own, all panels of one size."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skeltraj._palette import palette
from skeltraj.pl._drawing.cell_style import CellStyle
from skeltraj.pl._drawing.cells import draw_cells
from skeltraj.pl._drawing.panels import fit_figure, frame, panels
from skeltraj.pl._drawing.values import Values

_N = 240
LONG = "a rather long name of the cell type number"


def values(kind):
    """Numbers, or groups: ("type", 40) are forty with short names."""
    if kind == "numbers":
        return Values("numbers", np.linspace(0, 123456, _N))
    word, n = kind
    return Values(f"{n} groups", np.arange(_N) % n, [f"{word} {i}" for i in range(n)], palette(n))


def drawn(kinds, *, ncols, three=False, ax=None):
    points = np.random.default_rng(0).standard_normal((_N, 3 if three else 2))
    axes = panels(len(kinds), ax=ax, three=three, ncols=ncols)
    for panel, kind in zip(axes, kinds, strict=True):
        draw_cells(panel, points, values(kind), CellStyle())
        frame(panel, ["one", "two", "three"][: 2 + three], str(kind))
    fit_figure(axes)
    axes[0].figure.canvas.draw()
    return axes


def beside(ax):
    """Boxes of the legend and the colour bars of an Axes, with their names."""
    boxes = [bar.get_tightbbox() for bar in ax.child_axes]
    return boxes + ([] if ax.get_legend() is None else [ax.get_legend().get_window_extent()])


def assert_in_own_slots(axes, three):
    figure = axes[0].figure
    boxes = [ax.get_position(original=True).transformed(figure.transSubfigure) for ax in axes]
    spots = [ax.get_subplotspec() for ax in axes]
    for box, spot in zip(boxes, spots, strict=True):
        np.testing.assert_allclose([box.width, box.height], [boxes[0].width, boxes[0].height], atol=0.6)
        for other_box, other in zip(boxes, spots, strict=True):
            if other.colspan.start == spot.colspan.start:
                assert abs(box.x0 - other_box.x0) < 0.6
            if other.rowspan.start == spot.rowspan.start:
                assert abs(box.y0 - other_box.y0) < 0.6
    things = [beside(ax) for ax in axes]
    assert all(len(own) == 1 for own in things)
    for ax, box, spot, [own] in zip(axes, boxes, spots, things, strict=True):
        assert (np.r_[own.min, -own.max] >= np.r_[figure.bbox.min, -figure.bbox.max] - 0.6).all()
        right = own.x0 >= box.x1
        assert right or own.y1 <= box.y0
        # nearer to its own panel than to what comes next in its row or column
        for other_ax, other in zip(axes, spots, strict=True):
            if right and other.rowspan.start == spot.rowspan.start and other.colspan.start > spot.colspan.start:
                assert own.x1 < other_ax.get_tightbbox().x0
            if not right and other.colspan.start == spot.colspan.start and other.rowspan.start > spot.rowspan.start:
                assert own.y0 > other_ax.get_tightbbox().y1
        gap = own.x0 - box.x1 if right else box.y0 - own.y1
        assert gap < (0.7 if three or not right else 0.2) * figure.dpi
        for other in boxes:
            assert not own.overlaps(other)
        if not right:
            assert not own.overlaps(ax.xaxis.get_tightbbox())
    for [one], [other] in combinations(things, 2):
        assert not one.overlaps(other)


KINDS = ["numbers", ("type", 2), ("type", 40), (LONG, 8), "numbers", (LONG, 60), ("type", 17)]


@pytest.mark.parametrize(
    ("n", "ncols", "three"),
    [
        *((n, ncols, False) for n, ncols in ((1, 1), (2, 1), (2, 2), (3, 2), (4, 4), (5, 3), (6, 4), (7, 3))),
        *((n, ncols, True) for n, ncols in ((1, 4), (3, 2), (5, 3))),
    ],
)
def test_what_stands_beside_a_panel_is_in_its_own_slot(n, ncols, three):
    axes = drawn([KINDS[(i + ncols) % 7] for i in range(n)], ncols=ncols, three=three)
    assert_in_own_slots(axes, three)
    inches = axes[0].get_position(original=True).width * axes[0].figure.get_figwidth()
    assert inches == pytest.approx(4.0 if three else 4.6, abs=0.02)


@pytest.mark.parametrize("kind", [("type", 60), (LONG, 40), (LONG, 60), ("type", 102)])
def test_names_of_many_groups_can_be_read_and_keep_apart(kind):
    [ax] = drawn([kind], ncols=1)
    assert_in_own_slots([ax], three=False)
    texts = ax.get_legend().get_texts()
    assert [t.get_text() for t in texts] == values(kind).categories
    assert all(t.get_fontsize() >= 8 for t in texts)
    boxes = [t.get_window_extent() for t in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    width, height = ax.figure.get_size_inches()
    assert width < 18
    assert height < 9


def test_names_that_begin_with_a_stroke_are_in_the_legend():
    ax = panels(1, ax=None, three=False, ncols=1)[0]
    of = Values("x", np.arange(_N) % 2, ["_one", "two"], palette(2))
    draw_cells(ax, np.zeros((_N, 2)), of, CellStyle())
    assert [text.get_text().strip() for text in ax.get_legend().get_texts()] == ["_one", "two"]


@pytest.mark.parametrize("kind", ["numbers", ("type", 40)])
@pytest.mark.parametrize("three", [False, True])
def test_nothing_else_of_a_given_figure_moves(kind, three):
    figure = plt.figure()
    options = {"projection": "3d"} if three else {}
    axes = [figure.add_subplot(2, 2, i + 1, **options) for i in range(4)]
    before = [ax.get_position(original=True).bounds for ax in axes]
    size = tuple(figure.get_size_inches())
    drawn([kind], ncols=1, three=three, ax=axes[0])
    after = [ax.get_position(original=True).bounds for ax in axes]
    assert after[1:] == before[1:]
    assert tuple(figure.get_size_inches()) == size
    assert (after[0] == before[0]) == (kind != "numbers")  # only a colour bar needs room, and takes it there
    if kind == "numbers":
        [bar] = figure.axes[4:]
        x, _, width, _ = before[0]
        assert bar.get_position().x1 <= x + width + 1e-9
    else:
        assert axes[0].get_legend().get_window_extent().x0 >= axes[0].get_window_extent().x1
