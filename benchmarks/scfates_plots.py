"""scFates' own functions on a tree that was learned and ordered here: pictures, and that nothing has changed.

    python benchmarks/scfates_plots.py --out FOLDER

Needs scFates (``python -m pip install scFates``) beside skeltraj. Data: scanpy's krumsiek11, simulated myeloid cells
with four fates. The tree is handed over by ``skeltraj.get.to_scfates``; scFates draws it on the learned coordinates and
on the first two principal components, extracts a path, takes a part of the tree, and writes and reads it. What needs R
(``scFates.tl.test_association``, ``fit`` and what follows from them) is left out.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import anndata as ad
import matplotlib
import numpy as np
import scanpy as sc

import skeltraj as st


def learned(key="ddrtree"):
    """krumsiek11 with a tree."""
    adata = sc.datasets.krumsiek11()
    adata.obs_names_make_unique()
    del adata.uns["highlights"]
    sc.pp.pca(adata, n_comps=5)
    st.tl.ddrtree(adata, 5, use_rep="X", key_added=key)
    st.tl.order(adata, root={"cell_type": "progenitor"}, key=key)
    return adata


def draw(scf, data, folder):
    """Every picture of scFates that needs no R."""
    from matplotlib import pyplot

    tips = [name for name, node in data.uns["graph"]["milestones"].items() if node in data.uns["graph"]["tips"]]
    root = next(name for name, node in data.uns["graph"]["milestones"].items() if node == data.uns["graph"]["root"])
    ends = [name for name in tips if name != root]
    scf.tl.dendrogram(data)
    pyplot.close("all")
    pictures = {
        "graph": lambda: scf.pl.graph(data, basis="ddrtree", color_cells="cell_type", show=False),
        "graph_pca": lambda: scf.pl.graph(data, basis="pca", color_cells="cell_type", show=False),
        "trajectory_t": lambda: scf.pl.trajectory(data, basis="ddrtree", arrows=True, show=False),
        "trajectory_seg": lambda: scf.pl.trajectory(
            data, basis="ddrtree", color_seg="seg", color_cells="seg", show=False
        ),
        "trajectory_milestones": lambda: scf.pl.trajectory(
            data, basis="ddrtree", color_seg="milestones", color_cells="milestones", show=False
        ),
        "trajectory_path": lambda: scf.pl.trajectory(
            data, basis="ddrtree", root_milestone=root, milestones=ends[:2], color_cells="t", show=False
        ),
        "milestones": lambda: scf.pl.milestones(data, basis="ddrtree", annotate=True, show=False),
        "dendrogram": lambda: scf.pl.dendrogram(data, color="t", show=False),
        "dendrogram_seg": lambda: scf.pl.dendrogram(data, color="seg", color_seg="seg", show=False),
        "dendrogram_milestones": lambda: scf.pl.dendrogram(data, color="milestones", color_milestones=True, show=False),
        "ours": lambda: st.pl.graph(data, color="ddrtree_branch"),
    }
    for name, picture in pictures.items():
        picture().figure.savefig(folder / f"{name}.png", dpi=90, bbox_inches="tight")
        pyplot.close("all")
        print(f"  {name}.png")
    return root, ends


def segments(data):
    """First and last node of every segment."""
    table = data.uns["graph"]["pp_seg"]
    return set(zip(table["from"], table["to"], strict=True))


def check(scf, data, root, ends, folder):
    """That scFates' tools read the tree as it is."""
    assert np.array_equal(data.obs["t"], data.obs["ddrtree_pseudotime"])
    assert (("B" + data.obs["seg"].astype(str)) == data.obs["ddrtree_branch"].astype(str)).all()
    path = scf.tl.getpath(data, root, ends[:1])
    tree, nodes = st.get.graph(data), data.uns["graph"]["milestones"]
    passed = tree.edges_along(tree.path(nodes[root], nodes[ends[0]]))
    on_path = np.isin(data.obsm["ddrtree_position"]["edge"], passed)
    assert set(path.index) == set(data.obs_names[on_path])
    print(f"  getpath {root} to {ends[0]}: {len(path)} cells, those of the branches between")

    part = scf.tl.subset_tree(data, root_milestone=root, milestones=ends[:2], copy=True)
    assert set(part.uns["graph"]["milestones"]) >= {root, *ends[:2]}
    print(f"  subset_tree: {part.n_obs} cells")
    soft = scf.tl.convert_to_soft(data, sigma=0.1, lam=1, copy=True)
    assert np.allclose(soft.obsm["X_R"].sum(axis=1), 1, atol=1e-6)
    print("  convert_to_soft")

    again = data.copy()
    scf.tl.pseudotime(again)
    assert set(again.uns["graph"]["milestones"].items()) <= set(nodes.items())
    print(f"  scFates' own pseudotime on the same tree: r = {np.corrcoef(again.obs['t'], data.obs['t'])[0, 1]:.4f}")
    scf.tl.root(again, data.uns["graph"]["root"])
    np.testing.assert_allclose(again.uns["graph"]["pp_info"]["time"], data.uns["graph"]["pp_info"]["time"], atol=1e-3)
    assert segments(again) == segments(data)
    print("  scFates' own root finds the same times of the nodes and the same segments")

    data.write_h5ad(folder / "scfates.h5ad")
    back = ad.read_h5ad(folder / "scfates.h5ad")
    scf.tl.dendrogram(back)
    scf.pl.trajectory(back, basis="ddrtree", color_seg="milestones", show=False)
    print("  written and read")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="benchmarks/results/scfates", help="where pictures go (default: %(default)s)")
    folder = Path(parser.parse_args().out)
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    matplotlib.use("Agg")
    import scFates as scf

    scf.settings.verbosity = 0
    adata = learned()
    data = st.get.to_scfates(adata)
    print(f"scFates {scf.__version__}, {data.n_obs} cells, {len(data.uns['graph']['pp_seg'])} segments; {folder}:")
    root, ends = draw(scf, data, folder)
    check(scf, data, root, ends, folder)

    tree = st.get.graph(adata)
    middle = int(max(tree.branches, key=len)[2])
    st.tl.order(adata, root=middle)
    data = st.get.to_scfates(adata)
    scf.tl.dendrogram(data)
    for color in ("t", "seg", "milestones"):
        axes = scf.pl.trajectory(data, basis="ddrtree", color_seg=color, show=False)
        axes.figure.savefig(folder / f"inner_root_{color}.png", dpi=90, bbox_inches="tight")
    print("  a root on a branch")


if __name__ == "__main__":
    main()
