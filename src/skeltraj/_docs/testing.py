"""Texts about tests of genes and columns along a skeleton."""

from __future__ import annotations

TEXTS = {
    "Y_as_association": """\
Y
    Responses, (n, n_responses), as in :func:`association`.""",
    "curves_basis": """\
basis
    Curves on the skeleton, as :func:`skeltraj.core.tree_basis` gives them.""",
    "adata_trends": """\
adata
    Annotated data for which :func:`skeltraj.tl.trends` was run.""",
    "layer_tested": """\
layer
    Layer that holds the genes' values, best their counts. None: `X`. Dense, sparse, dask or backed; it is read in
    blocks and never dense as a whole.""",
    "family": """\
family
    "negative_binomial": counts, with a logarithmic link, size factors, and dispersions drawn towards a trend over the
    mean. "gaussian": log-normalised values, arrays, tumours. "auto": the first if all entries are whole numbers from 0
    up.""",
    "size_factors": """\
size_factors
    Of counts: "auto" for each cell's total over all genes divided by the median total, a column of `obs`, or None for 1
    everywhere. Cells whose size factor is 0 or missing, as those without counts, are left out.""",
    "covariates": """\
covariates
    Columns of `obs` for which the test is adjusted (batch, stage): numeric ones enter as they are, others as
    categories. Cells with missing values are left out.""",
    "sample_tested": """\
sample
    Column of `obs` that names the donor of each cell. Donors are then the unit of the test: cells of one donor are no
    replicates, and without it p-values are far too small where donors differ. Covariates that are constant within
    donors then have no effect on the test. Changes and signs are still those of curves of all cells, without levels of
    donors: where donors lie at different places of the tree (one for each day), name the column among `covariates` as
    well, which gives the curves these levels. None: cells are replicates.""",
    "genes_tested": """\
genes
    Genes to test: names, a boolean column of `var` ("highly_variable"), or a mask, of a Series by its index. None:
    all.""",
    "exploratory": """\
``exploratory`` says whether the tree was learned from the genes (the fit's input was `X`, a layer or an embedding
of them) and nothing was done about it: p-values are then too small, since a tree follows the errors of its
genes.""",
    "n_knots": """\
n_knots
    Knots of the curves along the longest path of the tree, both ends included. "auto": 6. Shorter branches have fewer,
    in proportion, and branches with few cells fewer still.""",
}
