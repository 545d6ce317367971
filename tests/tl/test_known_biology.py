"""What is known of blood and of breast cancer comes out of the tests along the tree, without being told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse

import skeltraj as st
from samples import shared

pytestmark = pytest.mark.compiled("thousands of cells, several fits")

RED = ["Klf1", "Car1", "Car2", "Ermap", "Hba-a2"]
MYELOID = ["Elane", "Mpo", "Prtn3", "Ctsg"]


def learned(adata, root, **given):
    """The tree from a group's tip, though that has many other cells around it, and though trees of halves differ."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The root|.*the trees from")
        st.tl.ddrtree(adata, **given)
        st.tl.order(adata, root=root)


@pytest.fixture(scope="module")
def blood():
    """Paul et al. (2015), 240 genes, prepared as scanpy's users do; one start, which takes a tenth of the time."""
    table = pd.read_csv(shared("data/paul15/paul15.csv.gz"), index_col=0)
    counts = sparse.csr_matrix(table.iloc[:, 2:].to_numpy(float))
    obs = pd.DataFrame({"celltype": table["celltype"].astype("category")})
    adata = AnnData(counts, obs=obs, var=pd.DataFrame(index=table.columns[2:]), layers={"counts": counts.copy()})
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    sc.pp.pca(adata, n_comps=30)
    learned(adata, {"celltype": "Multipotent progenitors"}, n_starts=1)
    st.tl.association(adata, layer="counts")
    st.tl.branch_test(adata, layer="counts")
    return adata


def tumours(adata, root, **given):
    learned(adata, {"subtype": root}, use_rep="X", **given)
    st.tl.association(adata)
    st.tl.branch_test(adata)
    return adata


@pytest.fixture(scope="module")
def tcga():
    adata = st.datasets.tcga_brca(shared("data/tcga_brca_pam50/tcga_brca_pam50_genes.csv.gz"))
    sc.pp.scale(adata)
    return tumours(adata, "normal tissue")


@pytest.fixture(scope="module")
def metabric():
    adata = st.datasets.metabric(shared("data/metabric/METABRIC_RNA_Mutation.csv.gz"))
    return tumours(adata, "normal-like", n_starts=1)


def branch_of(adata, column, group):
    """The branch that holds most of a group."""
    return st.get.groups(adata, column).loc[group, "branch"]


def lineage_to(adata, column, group):
    """The tip at the end of the branch that holds most of a group."""
    ends = adata.uns["ddrtree"]["order"]["branches"].loc[branch_of(adata, column, group), ["start", "end"]]
    [tip] = [end for end in ends if end.startswith("T")]
    return tip


def parting(adata, column, one, other):
    """The fork at which the ways from the root to two groups part, and the branches with which they go on."""
    graph, order, middle = st.get.graph(adata), adata.uns["ddrtree"]["order"], st.get.groups(adata, column)["node"]
    ways = [graph.path(int(order["root"]), int(middle[group])).tolist() for group in (one, other)]
    fork = [a for a, b in zip(*ways, strict=False) if a == b][-1]
    nexts = [graph.edges_along(np.array([fork, way[way.index(fork) + 1]])) for way in ways]
    [name] = order["forks"].index[order["forks"]["node"] == fork]
    return name, *(order["branches"].index[graph.branch_of_edge[edge[0]]] for edge in nexts)


def by_gene(table):
    return table.assign(rank=np.arange(1, len(table) + 1)).set_index("names")


@pytest.mark.parametrize(
    ("known", "group", "other"),
    [(RED, "Erythrocyte", "Monocytes"), (MYELOID, "Neutrophils", "Erythrocyte")],
    ids=["red cells", "neutrophils and monocytes"],
)
def test_blood_genes_peak_where_they_are_known_to(blood, known, group, other):
    """Each peaks on the branch of its cells, is up on the arm that leads there, and rises towards its end."""
    along = by_gene(st.get.association(blood)).loc[known]
    own = branch_of(blood, "celltype", group)
    assert set(along["peak_branch"]) == {own}
    assert along["pvals_adj"].max() < 1e-30
    assert along["rank"].max() < 100  # of 240 genes that were chosen because they change
    fork, arm, _ = parting(blood, "celltype", group, other)
    beyond = by_gene(st.get.branch_test(blood, fork)).loc[known]
    assert set(beyond["up"]) == {arm}
    assert beyond["pvals_adj"].max() < 1e-15
    assert beyond["logfoldchanges"].min() > 1
    assert (beyond[["parting", "parting_low", "parting_high"]].notna()).all(axis=None)


def test_neutrophils_lead_the_table_and_rise_to_the_end(blood):
    along = by_gene(st.get.association(blood))
    assert along.loc[MYELOID, "rank"].max() <= 5
    late = [*MYELOID, "Gstm1", "Srgn"]
    assert (along.loc[late, f"sign_{branch_of(blood, 'celltype', 'Neutrophils')}"] == 1).all()
    fork, arm, _ = parting(blood, "celltype", "Neutrophils", "Erythrocyte")
    assert set(by_gene(st.get.branch_test(blood, fork)).loc[["Gstm1", "Srgn"], "up"]) == {arm}
    assert along.loc["Gstm1", "peak_branch"] == branch_of(blood, "celltype", "Neutrophils")


def test_apoe_is_high_in_progenitors_and_lost_on_every_long_way(blood):
    apoe = by_gene(st.get.association(blood)).loc["Apoe"]
    assert apoe["peak_pseudotime"] < 0.15 * blood.obs["ddrtree_pseudotime"].max()
    assert apoe["logfoldchanges"] < -2
    for group in ("Neutrophils", "Monocytes", "Erythrocyte"):
        assert apoe[f"change_{lineage_to(blood, 'celltype', group)}"] < -2


def test_receptors_of_tcga(tcga):
    """ESR1 is lost towards basal, ERBB2 peaks where HER2 tumours are, proliferation rises on every way."""
    along = by_gene(st.get.association(tcga))
    basal, her2 = (lineage_to(tcga, "subtype", name) for name in ("basal", "HER2"))
    assert along["pvals_adj"].max() < 1e-30  # the genes were chosen because they tell the subtypes
    assert along.loc["ERBB2", "peak_branch"] == branch_of(tcga, "subtype", "HER2")
    away = (tcga.obs["ddrtree_pseudotime"] - along.loc["ERBB2", "peak_pseudotime"]).abs()
    at_peak = tcga.obs.loc[tcga.obs["ddrtree_branch"] == along.loc["ERBB2", "peak_branch"]].assign(away=away)
    assert (at_peak.nsmallest(30, "away")["subtype"] == "HER2").mean() > 0.6  # of all tumours 7 % are
    assert along.loc["ERBB2", f"change_{her2}"] > 2 * along.loc["ERBB2", f"change_{basal}"]
    assert along.loc["MKI67", [name for name in along if name.startswith("change_T")]].min() > 0
    assert along.loc["MKI67", "peak_pseudotime"] > 0.75 * tcga.obs["ddrtree_pseudotime"].max()
    fork, _, other = parting(tcga, "subtype", "HER2", "basal")
    up = by_gene(st.get.branch_test(tcga, fork))["up"]
    assert up["EGFR"] == other
    assert other not in set(up[["ERBB2", "ESR1", "FOXA1"]])
    st.tl.branch_test(tcga, between=(her2, basal))
    ends = by_gene(st.get.branch_test(tcga, f"{her2}-{basal}")).loc[["ERBB2", "FOXA1", "MLPH", "FOXC1"]]
    assert ends["rank"].max() <= 8  # of 50
    assert (np.sign(ends["logfoldchanges"]) == [-1, -1, -1, 1]).all()
    luminal = int(st.get.groups(tcga, "subtype").loc["luminal B", "node"])
    st.tl.branch_test(tcga, between=(luminal, basal))
    esr1 = by_gene(st.get.branch_test(tcga, f"node {luminal}-{basal}")).loc["ESR1"]
    assert esr1["logfoldchanges"] < -1
    assert esr1["pvals_adj"] < 1e-20


def test_mutations_of_metabric(metabric):
    """TP53 towards basal and HER2, PIK3CA and GATA3 in luminal tumours, first of 173 genes."""
    mutated = metabric.obsm["mutations"].add_suffix("_mut")
    metabric.obs = metabric.obs.drop(columns=mutated.columns, errors="ignore").join(mutated)
    st.tl.association(metabric, columns=list(mutated))
    along = by_gene(st.get.association(metabric, columns=True))
    assert len(along) == 173
    assert set(along["family"]) == {"binomial"}
    assert list(along.index[:3]) == ["TP53_mut", "PIK3CA_mut", "GATA3_mut"]
    assert along["pvals_adj"].iloc[:3].max() < 1e-6
    assert (along["pvals_adj"] < 0.05).sum() < 60  # not everything
    basal, her2 = (lineage_to(metabric, "subtype", name) for name in ("basal", "HER2"))
    assert along.loc["TP53_mut", "peak_branch"] == branch_of(metabric, "subtype", "basal")
    assert along.loc["TP53_mut", [f"change_{basal}", f"change_{her2}"]].min() > 1
    assert along.loc["PIK3CA_mut", [f"change_{basal}", f"change_{her2}"]].max() < -1
    assert along.loc["GATA3_mut", [f"change_{basal}", f"change_{her2}"]].max() < 0
    for gene in ("PIK3CA_mut", "GATA3_mut"):
        peak = along.loc[gene, "peak_branch"]
        there = metabric.obs.loc[metabric.obs["ddrtree_branch"] == peak, "subtype"]
        assert there.isin(["normal-like", "luminal A", "luminal B"]).mean() > 0.6
