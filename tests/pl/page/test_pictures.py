"""Pictures on a page."""

from __future__ import annotations

import base64
import io

import matplotlib.image
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from skeltraj.pl._page.pictures import GROUND, INK, MAX_VECTOR_MARKS, picture


def draw():
    ax = plt.figure(figsize=(3, 2)).add_subplot()
    ax.plot([0, 1], [0, 1])
    ax.set_title("costs $1 and $2 🌳")
    return ax


def content(address):
    kind, _, text = address.partition(";base64,")
    return kind, base64.b64decode(text)


def test_few_marks_are_vectors_on_either_ground():
    made = picture(draw, "A line", "A line.")
    for theme, other in (("light", "dark"), ("dark", "light")):
        kind, svg = content(getattr(made, theme))
        assert kind == "data:image/svg+xml"
        assert GROUND[theme].encode() in svg
        assert INK[theme].encode() in svg
        assert INK[other].encode() not in svg
    assert 200 < made.width < 400
    assert 120 < made.height < 300
    assert picture(draw, "A line", "A line.") == made  # the same bytes


def test_many_marks_are_dots_at_twice_the_size():
    made = picture(draw, "A line", "A line.", MAX_VECTOR_MARKS + 1)
    for theme in ("light", "dark"):
        kind, png = content(getattr(made, theme))
        assert kind == "data:image/png"
        image = matplotlib.image.imread(io.BytesIO(png))
        assert abs(image.shape[1] - 2 * made.width) <= 1
        np.testing.assert_allclose(image[0, 0, :3], to_rgb(GROUND[theme]), atol=0.5 / 255)
        assert 2 < len(np.unique(image.reshape(-1, image.shape[-1]), axis=0)) <= 256


def test_pictures_of_lists_and_of_named_axes():
    assert picture(lambda: [draw()], "", "").width == picture(lambda: {"line": draw()}, "", "").width


def test_the_users_figures_and_settings_stay():
    own = plt.figure()
    with plt.rc_context({"text.color": "red", "figure.facecolor": "green"}):
        before = dict(plt.rcParams)
        made = picture(draw, "A line", "A line.")
        assert dict(plt.rcParams) == before
    assert made == picture(draw, "A line", "A line.")
    assert plt.get_fignums() == [own.number]


def test_a_figure_that_cannot_be_drawn_is_closed():
    def broken():
        draw()
        raise ValueError("nothing to draw")

    with pytest.raises(ValueError, match="nothing to draw"):
        picture(broken, "", "")
    assert plt.get_fignums() == []
