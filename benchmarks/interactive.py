"""Views of many cells that can be turned: `pl.graph_3d` beside plotly express.

    python benchmarks/interactive.py
    python benchmarks/interactive.py --cells 3000 --no-browser

A tree with three arms made by hand and cells around it, coloured by twelve groups. For each number of cells: the
seconds from the call to the HTML file, the size of the file, and the seconds until Chromium has drawn it (with
`--no-browser` not), for `skeltraj.pl.graph_3d` and for `plotly.express.scatter_3d` of all cells with their names under
the pointer. Chromium draws without a graphics card, by SwiftShader.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import skeltraj as st

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
LIMIT = 150_000  # milliseconds until a page is given up


def star(n, n_groups=12):
    """Cells around three arms of ten nodes each, with the tree stored as a fit would store it."""
    rng = np.random.default_rng(0)
    arm, along = rng.integers(0, 3, n), rng.random(n)
    points = np.eye(3)[arm] * along[:, None] + 0.05 * rng.standard_normal((n, 3))
    nodes = np.vstack([np.zeros(3), *(np.eye(3)[i] * np.linspace(0.1, 1, 10)[:, None] for i in range(3))])
    edges = np.array([(0 if j == 0 else 10 * i + j, 10 * i + j + 1) for i in range(3) for j in range(10)])
    nearest = np.where(along < 0.05, 0, 10 * arm + np.clip(np.round(10 * along).astype(int), 1, 10))
    group = np.char.add("group ", (4 * arm + (4 * along).astype(int)).astype(str))
    obs = pd.DataFrame({"group": pd.Categorical(group)}, index=[f"AAACCTGAG{i:09d}-1" for i in range(n)])
    adata = ad.AnnData(sparse.csr_matrix((n, 1), dtype=np.float32), obs=obs)
    adata.obsm["X_ddrtree"] = points
    adata.obsm["ddrtree_assignment"] = sparse.csr_matrix(
        (np.ones(n), nearest, np.arange(n + 1)), shape=(n, len(nodes))
    )  # fmt: skip
    length = np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1)
    adata.uns["ddrtree"] = dict(params={"method": "ddrtree"}, nodes=nodes, edges=edges, edge_length=length)
    return adata


def ours(adata, path):
    st.pl.graph_3d(adata, color="group", save=path)


def plotly_express(adata, path):
    import plotly.express as px

    table = pd.DataFrame(adata.obsm["X_ddrtree"], columns=["x", "y", "z"], index=adata.obs_names)
    table["group"] = adata.obs["group"]
    figure = px.scatter_3d(table, x="x", y="y", z="z", color="group", hover_name=table.index)
    figure.write_html(path, include_plotlyjs=True)


PROGRAMS = {"skeltraj": ours, "plotly express": plotly_express}


def seconds_to_picture(browser, path):
    """From the call to open the page to the end of the frame in which its cells are drawn; None: it gave up."""
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.set_default_timeout(LIMIT)
    try:
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullLayout?.scene?._scene?.glplot")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot()
        return time.perf_counter() - began
    except Exception as error:  # noqa: BLE001
        print(f"  {path.name}: {str(error).splitlines()[0]}")
        return None
    finally:
        page.close()


def measured(adata, write, folder, browser):
    """Seconds to the file, its size in megabytes, seconds to the picture."""
    path = folder / "page.html"
    began = time.perf_counter()
    write(adata, path)
    written = time.perf_counter() - began
    drawn = None if browser is None else seconds_to_picture(browser, path)
    return written, path.stat().st_size / 1e6, drawn


def rows(cells, folder, browser):
    for n in cells:
        adata = star(n)
        for name, write in PROGRAMS.items():
            written, size, drawn = measured(adata, write, folder, browser)
            shown = "-" if drawn is None else f"{drawn:.1f}"
            print(f"| {n:,} | {name} | {written:.1f} | {size:.1f} | {shown} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[3000, 100_000, 1_000_000])
    parser.add_argument("--no-browser", action="store_true", help="write the files only")
    given = parser.parse_args()
    star_small = star(100)
    print("| cells | program | seconds to the file | MB | seconds to the picture |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for write in PROGRAMS.values():  # imports and first calls are not measured
            write(star_small, Path(folder) / "page.html")
        if given.no_browser:
            rows(given.cells, Path(folder), None)
            return
        from playwright.sync_api import sync_playwright

        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if path is None:
            parser.error("there is no Chromium; --no-browser writes the files only")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            rows(given.cells, Path(folder), browser)
            browser.close()


if __name__ == "__main__":
    main()
