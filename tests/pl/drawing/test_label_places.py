"""Names beside their points: apart from one another, off lines and marks, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.pl._drawing.label_places import Around, count_in_squares, gaps, label_places

SIZE = np.array([300.0, 200.0])
NOTHING = np.zeros((0, 4))


def around(*, lines=(), cells=(), marks=NOTHING, texts=NOTHING):
    at = lambda spots: np.reshape(np.asarray(spots, dtype=float), (-1, 2))
    return Around(SIZE, at(lines), count_in_squares(at(cells), SIZE), np.asarray(marks), np.asarray(texts))


def overlaps(places, sizes, other, other_sizes):
    return (np.abs(places[:, None] - other) < (sizes[:, None] + other_sizes) / 2 - 1e-9).all(axis=2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [0.0, 5.0, 40.0, 200.0])
@pytest.mark.parametrize("n", [1, 2, 12, 40])
def test_names_keep_apart_in_the_axes_and_off_marks(seed, scale, n):
    rng = np.random.default_rng(seed)
    points = (SIZE / 2 + scale * rng.standard_normal((n, 2))).clip(0, SIZE)
    sizes = np.column_stack([rng.uniform(10, 40, n), np.full(n, 10.0)])
    radius = np.full(n, 3.0)
    places, clear = label_places(points, radius, sizes, around())
    assert clear.all()
    assert overlaps(places, sizes, places, sizes).sum() == n  # each with itself
    assert (places - sizes / 2).min() >= 0
    assert (places + sizes / 2 <= SIZE).all()
    assert not overlaps(places, sizes, points, np.zeros((n, 2))).any()
    if n <= 12:
        assert gaps(points, radius, places, sizes / 2).max() < 60


def test_a_name_stands_close_to_its_point_on_the_side_without_lines():
    line = np.column_stack([np.arange(150.0), np.full(150, 100.0)])  # ends at the point
    places, clear = label_places(np.array([[150.0, 100]]), np.array([2.0]), np.array([[20.0, 10]]), around(lines=line))
    assert clear.all()
    assert places[0] == pytest.approx([150 + 2 + 2 + 10, 100])


def test_names_leave_lines_marks_texts_and_cells():
    point, radius, sizes = np.array([[150.0, 100]]), np.array([2.0]), np.array([[20.0, 10]])
    rays = np.concatenate([np.array([150, 100]) + t * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) for t in range(60)])
    free, _ = label_places(point, radius, sizes, around(lines=rays))
    off = np.abs(free[0] - point[0])
    assert (off > [10, 5]).all()  # in a corner between the lines
    quarter = np.array([[150.0, 100, 300, 200], [0, 100, 150, 200], [0, 0, 150, 100]])
    for kind in ("marks", "texts"):
        place, clear = label_places(point, radius, sizes, around(lines=rays, **{kind: quarter}))
        assert clear.all()
        assert place[0, 0] > 150
        assert place[0, 1] < 100
    upper = np.random.default_rng(0).uniform([0, 102], [300, 200], (3000, 2))
    place, _ = label_places(point, radius, sizes, around(lines=rays, cells=upper))
    assert place[0, 1] < 100


def test_the_order_of_the_cells_does_not_matter():
    rng = np.random.default_rng(0)
    points, cells = rng.uniform([20, 20], SIZE - 20, (9, 2)), rng.uniform([0, 0], SIZE, (500, 2))
    radius, sizes = np.full(9, 2.0), np.full((9, 2), [24.0, 10.0])
    places, _ = label_places(points, radius, sizes, around(cells=cells))
    again, _ = label_places(points, radius, sizes, around(cells=cells[::-1]))
    np.testing.assert_array_equal(places, again)


def test_names_that_find_no_room_are_told():
    sizes = np.full((5, 2), [280.0, 90.0])
    places, clear = label_places(np.tile(SIZE / 2, (5, 1)), np.full(5, 2.0), sizes, around())
    assert not clear.all()
    assert (overlaps(places, sizes, places, sizes).sum(axis=1) > 1)[~clear].all()
    full = np.r_[0.0, 0, SIZE][None]
    _, clear = label_places(SIZE[None] / 2, np.array([2.0]), np.array([[20.0, 10]]), around(texts=full))
    assert not clear.any()


def test_leaders_do_not_cross_names():
    points = np.column_stack([np.linspace(120, 180, 10), np.full(10, 100.0)])
    sizes = np.full((10, 2), [22.0, 10.0])
    places, clear = label_places(points, np.full(10, 2.0), sizes, around())
    assert clear.all()
    long = gaps(points, np.full(10, 2.0), places, sizes / 2) > 5
    assert long.any()
    for i in np.flatnonzero(long):
        along = points[i] + np.linspace(0, 1, 200)[:, None] * (places[i] - points[i])
        others = np.arange(10) != i
        assert not overlaps(along, np.zeros_like(along), places[others], sizes[others]).any()
