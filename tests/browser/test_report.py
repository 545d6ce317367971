"""The page of `pl.report` in a browser."""

from __future__ import annotations

import pytest

from skeltraj import pl
from skeltraj.pl._page import section
from skeltraj.pl._page.pictures import Picture, picture
from studied import NASTY, studied

DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A page of everything, with nasty names; of the pictures only those of the tree are drawn."""

    def some(draw, alt, caption, n_marks=0):
        if draw.func.__name__ == "graph" and draw.keywords.get("color") == "group":
            return picture(draw, alt, caption, n_marks)
        return Picture(DOT, DOT, 300, 200, alt, caption)

    path = tmp_path_factory.mktemp("page") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section, "picture", some)
        pl.report(studied(), path, groupby="group", title=NASTY[0], interactive=False)
    return path


def table(page, caption):
    return page.locator(".table").filter(has=page.locator(".caption", has_text=caption))


def column(of, number):
    return of.locator(f"tbody tr td:nth-child({number})").all_inner_texts()


def test_nothing_of_the_data_is_run_and_the_names_are_there(browser_page, file):
    page = browser_page.open(file)
    browser_page.assert_quiet()
    assert page.title() == NASTY[0]
    names = column(table(page, "Groups of group by median pseudotime"), 1)
    assert sorted(name.strip() for name in names) == sorted(name.strip() for name in NASTY)
    assert page.locator("body img[src=x]").count() == 0
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")


def test_heads_sort(browser_page, file):
    page = browser_page.open(file)
    of = table(page, "Cox models")
    head = of.locator("th").nth(6)  # p-values, some with an exponent
    ups = "(cells) => cells.map((cell) => cell.dataset.number)"
    for state, wanted in (("ascending", sorted), ("descending", lambda v: sorted(v, reverse=True))):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == state
        values = [float(v) for v in of.locator("tbody tr td:nth-child(7)").evaluate_all(ups)]
        assert values == wanted(values)
        assert len(set(values)) > 2
    of.locator("th").nth(1).locator("button").click()
    assert head.get_attribute("aria-sort") is None
    terms = column(of, 2)
    assert terms == sorted(terms, key=str.lower)


def test_heads_sort_by_the_keyboard_and_what_is_missing_stays_last(browser_page, file):
    page = browser_page.open(file)
    of = table(page, "Tests of the models")
    page.evaluate(
        "(table) => { const cell = table.querySelector('tbody td:nth-child(3)'); "
        "cell.dataset.number = ''; cell.textContent = ''; }",
        of.element_handle(),
    )
    of.locator("th").nth(2).locator("button").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
        values = column(of, 3)
        assert values[-1] == ""
        assert "" not in values[:-1]


def test_the_theme_follows_the_browser_and_the_button(browser_page, file):
    page = browser_page.page
    page.emulate_media(color_scheme="light")
    browser_page.open(file)
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = page.locator("img.light").first, page.locator("img.dark").first
    button = page.locator("#theme")
    seen = []
    for act in (None, button.click, button.click, lambda: page.emulate_media(color_scheme="dark")):
        if act is not None:
            act()
        seen.append((page.evaluate(ground), light.is_visible(), dark.is_visible(), button.inner_text()))
    white, black = ("rgb(255, 255, 255)", True, False, "Dark"), ("rgb(22, 25, 30)", False, True, "Light")
    assert seen == [white, black, white, white]  # what the reader chose stays
    browser_page.open(file)
    assert (page.evaluate(ground), dark.is_visible()) == (black[0], True)


def test_tables_can_be_downloaded(browser_page, file):
    page = browser_page.open(file)
    with page.expect_download() as waiting:
        table(page, "Branches: the tips").locator("a[download]").click()
    assert waiting.value.suggested_filename == "ddrtree_branches.csv"
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "branch,start,end,length,n_cells"
    assert len(lines) == 4


def test_contents_lead_to_the_sections(browser_page, file):
    page = browser_page.open(file)
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1
    page.locator("nav a", has_text="The fit").click()
    assert page.locator("#convergence h2").is_visible()


def test_the_view_in_three_components_is_drawn(browser_page, tmp_path):
    adata = studied()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section, "picture", lambda draw, alt, said, n=0: Picture(DOT, DOT, 300, 200, alt, said))
        pl.report(adata, tmp_path / "page.html", groupby="group", interactive=True)
    page = browser_page.open(tmp_path / "page.html")
    page.locator("iframe").scroll_into_view_if_needed()
    view = page.frame_locator("iframe")
    view.locator("body[data-drawn=yes]").wait_for(state="attached")
    assert view.locator("canvas").count() > 0
    page.locator("#theme").click()  # reaches the view as well
    view.locator("html[style*=dark]").wait_for(state="attached")
    page.locator("#theme").click()
    view.locator("html[style*=light]").wait_for(state="attached")
    assert "taken" not in page.title()


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_window(browser_page, file, width):
    page = browser_page.page
    page.set_viewport_size({"width": width, "height": 800})
    browser_page.open(file)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_pictures_are_the_light_ones_and_tables_are_whole(browser_page, file):
    page = browser_page.page
    page.emulate_media(color_scheme="dark", media="print")
    browser_page.open(file)
    assert page.locator("img.light").first.is_visible()
    assert not page.locator("img.dark").first.is_visible()
    assert not page.locator("nav").is_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.table .scroll')].every((box) => box.scrollHeight <= box.clientHeight + 1)"
    )
