"""The page with a tree that can be turned, in a browser."""

from __future__ import annotations

import io
import json

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from samples import by_hand
from skeltraj import pl, tl

# Where a place of the picture is on the screen: as plotly itself projects the places of notes.
PROJECT = """(place) => {
  const scene = document.getElementById("picture")._fullLayout.scene._scene;
  const {model, view, projection} = scene.glplot.cameraParams;
  const times = (m, v) => [0, 1, 2, 3].map((i) => [0, 1, 2, 3].reduce((sum, j) => sum + m[i + 4 * j] * v[j], 0));
  const scaled = place.map((x, i) => x * scene.dataScale[i]);
  const [x, y, , w] = times(projection, times(view, times(model, [...scaled, 1])));
  const box = scene.container.getBoundingClientRect();
  return [box.left + (0.5 + 0.5 * x / w) * box.width, box.top + (0.5 - 0.5 * y / w) * box.height];
}"""
SCRIPT = "<script>throw Error('run')</script>"


@pytest.fixture
def adata():
    """Three arms in space whose nodes stand clear of the cells; one gene, and names that look like code."""
    nodes = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]
    rng = np.random.default_rng(0)
    points = np.repeat(2 * np.eye(3), 20, axis=0) + 0.4 * rng.standard_normal((60, 3))
    adata = by_hand(nodes, [[0, 1], [0, 2], [0, 3]], points)
    adata.obs_names = [f"cell {i}{SCRIPT}" for i in range(60)]
    adata.obs["arm"] = pd.Categorical(np.repeat(['<b>"one"</b>', f"two{SCRIPT}", '%{x} $three$ "3"'], 20))
    adata.obs[f"number{SCRIPT}"] = np.arange(60.0)
    adata.uns["arm_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    tl.order(adata, root=1)
    return adata


def drawn(browser_page, path):
    page = browser_page.open(path)
    page.wait_for_selector("body[data-drawn]")
    frames(page)
    return page


def frames(page):
    """Wait until what was changed is on the screen."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page):
    """What is on the screen, (height, width, 3), from 0 to 1."""
    return matplotlib.image.imread(io.BytesIO(page.screenshot()))[..., :3]


def n_like(image, color):
    """How many pixels are about of a colour that the cells have: lighter or darker, but of its hue."""
    low, high = image[..., np.array(color) == 0].max(axis=-1), image[..., np.array(color) == 1].min(axis=-1)
    return int((high - low > 0.4).sum())


def test_the_page_draws_names_and_switches(browser_page, adata, tmp_path):
    pl.graph_3d(adata, color=["arm", f"number{SCRIPT}"], hover="arm", save=tmp_path / "page.html")
    page = drawn(browser_page, tmp_path / "page.html")
    red, green, blue = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    image = pixels(page)
    assert min(n_like(image, color) for color in (red, green, blue)) > 50
    assert (image[5, -5] == 1).all()

    # a cell under the pointer: one that no other hides
    [x, y] = page.evaluate(PROJECT, adata.obsm["X_ddrtree"][7].tolist())
    page.mouse.move(x, y)
    page.wait_for_selector(".hovertext")
    text = page.text_content(".hovertext")
    assert "cell " in text
    assert SCRIPT in text
    assert "&" not in text
    assert text.count("arm: ") == 1  # though it is the colour and asked for

    # a tip
    [x, y] = page.evaluate(PROJECT, [0, 0, 4])
    page.mouse.move(x, y)
    page.wait_for_function("document.querySelector('.hovertext')?.textContent.includes('T1')")
    page.mouse.down()  # plotly looks at the button whenever it draws
    page.wait_for_function("document.getElementById('root').textContent === 'root=\"T1\"'")
    page.mouse.up()
    page.wait_for_function("document.getElementById('said').textContent === 'copied'")
    assert page.evaluate("navigator.clipboard.readText()") == 'root="T1"'

    # the menu
    page.mouse.move(5, 300)
    page.click(".updatemenu-header")
    page.click(f".updatemenu-dropdown-button:has-text({json.dumps('number' + SCRIPT)})")
    page.wait_for_function("document.querySelector('.gtitle').textContent.startsWith('number')")
    frames(page)
    image = pixels(page)
    assert max(n_like(image, color) for color in (red, blue)) < 50
    assert SCRIPT in page.text_content(".gtitle")


def test_the_page_is_as_light_or_dark_as_its_reader_likes(browser_page, adata, tmp_path):
    pl.graph_3d(adata, color="arm", save=tmp_path / "page.html")
    browser_page.page.emulate_media(color_scheme="dark")
    page = drawn(browser_page, tmp_path / "page.html")
    dark = pixels(page)
    assert np.median(dark) < 0.2
    assert n_like(dark, (1, 0, 0)) > 50
    legend = page.text_content(".legend")
    assert all(group in legend for group in adata.obs["arm"].cat.categories)
    page.click(".legendtoggle >> nth=0")
    page.wait_for_function("document.getElementById('picture').data.some((t) => t.visible === 'legendonly')")
    page.emulate_media(color_scheme="light")
    page.wait_for_function("document.documentElement.style.colorScheme === 'light'")
    frames(page)
    hidden = page.evaluate("document.getElementById('picture').data.map((t) => t.visible)")
    assert hidden.count("legendonly") == 1  # the reader's choice stays
    assert np.median(pixels(page)) == 1


def test_a_hundred_thousand_cells_can_be_used(browser_page, adata, tmp_path):
    rng = np.random.default_rng(0)
    tree = adata.uns["ddrtree"]
    points = np.repeat(adata.X, 2000, axis=0) + 0.2 * rng.standard_normal((120_000, 3))
    big = by_hand(tree["nodes"], tree["edges"], points)
    pl.graph_3d(big, max_cells=100_000, save=tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 12e6
    page = drawn(browser_page, tmp_path / "page.html")
    assert "100,000 of 120,000 cells" in page.text_content("#picture")
    [x, y] = page.evaluate(PROJECT, [2, 0, 0])
    page.mouse.move(x, y)
    page.wait_for_selector(".hovertext")
