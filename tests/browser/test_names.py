"""Names of every kind that try to run a script, on every page and picture that a browser shows."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from samples import cells
from skeltraj import get, pl, tl
from skeltraj.pl._page import section
from skeltraj.pl._page.pictures import Picture

NAMES = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"'><img src=x onerror=alert(3)>",
    "</title></style></svg><svg onload=alert(4)>",
    "<!-- --><script>alert(5)",
    "javascript:alert(6)//&lt;script&gt;alert(7)&lt;/script&gt;",
]


@pytest.fixture(scope="module")
def named():
    """Cells, genes, groups, a column, and the key of the fit under such names."""
    adata = cells(60, n_features=6)
    adata.var_names = NAMES
    adata.obs_names = [f"{NAMES[i % 6]}{i}" for i in range(60)]
    adata.obs["group"] = pd.Categorical([NAMES[i % 6] for i in range(60)])
    adata.obs[NAMES[2]] = adata.obs["group"]
    tl.ddrtree(adata, 3, n_nodes=12, denoise=False, n_starts=1, key_added=NAMES[0].replace("/", ""))
    tl.order(adata, {"stage": "stem"}, key=NAMES[0].replace("/", ""))
    return adata, NAMES[0].replace("/", "")


DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def report(adata, key, path):
    with pytest.MonkeyPatch.context() as patch:  # its pictures are images, which run nothing
        patch.setattr(section, "picture", lambda draw, alt, caption, n_marks=0: Picture(DOT, DOT, 1, 1, alt, caption))
        pl.report(adata, path, key=key, groupby=["group", NAMES[2]], title=NAMES[1], interactive=True)


def turning(adata, key, path):
    pl.graph_3d(adata, key, color=["group", NAMES[1]], hover=[NAMES[2]], title=NAMES[3], save=path)


def summary(adata, key, path):
    path.write_text(f"<meta charset='utf-8'>{get.summary(adata, key)._repr_html_()}", encoding="utf-8")


def vectors(adata, key, path):
    ax = pl.graph(adata, key, color="group", title=NAMES[3])
    with plt.rc_context({"svg.fonttype": "none"}):  # words are written, not drawn
        ax.figure.savefig(path, metadata={"Title": NAMES[3], "Date": None})
    assert NAMES[0] not in path.read_text(encoding="utf-8")
    assert "&lt;script" in path.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [report, turning, summary, vectors])
def test_no_script_of_a_name_is_run(make, named, browser_page, tmp_path):
    path = tmp_path / ("page.svg" if make is vectors else "page.html")
    make(*named, path)
    said = []
    browser_page.page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page = browser_page.open(path)
    if make is turning:
        page.wait_for_selector("body[data-drawn]")
    for frame in page.frames:
        assert frame.locator("img[src=x]").count() == 0
        assert frame.locator("svg[onload]").count() == 0
    page.wait_for_timeout(100)
    assert said == []
