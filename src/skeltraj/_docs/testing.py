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
    Layer with the genes' values, preferably counts. None: `X`. It may be dense, sparse, dask or backed; it is read in
    blocks and never made dense as a whole.""",
    "family": """\
family
    "negative_binomial": counts, with a logarithmic link, size factors, and dispersions shrunk towards a trend
    over the mean. "gaussian": log-normalised values, arrays, tumours. "auto": the first if all entries are non-negative
    integers.""",
    "size_factors": """\
size_factors
    For counts: "auto" for each cell's total over all genes divided by the median total, a column of `obs`, or None for
    1 everywhere. Cells whose size factor is 0 or missing, such as those without counts, are left out. Totals over few
    genes follow these genes: to test some of them, keep all in `adata` and name those (`genes`), or name a column with
    the totals over all genes.""",
    "covariates": """\
covariates
    Columns of `obs` for which the test is adjusted (batch, stage): numeric columns enter as they are, True and False as
    1 and 0, others as categories. Cells with missing values are left out.""",
    "sample_tested": """\
sample
    Column of `obs` that names the donor of each cell. Donors are then the unit of the test: cells of one donor are not
    replicates, and without `sample` p-values are far too small where donors differ. Covariates that are constant within
    donors then have no effect on the test. Changes and signs are still those of curves of all cells, without a level
    for each donor: if donors lie at different places on the tree (one for each day), name the column among `covariates`
    as well, which gives the curves these levels. None: cells are replicates.""",
    "genes_tested": """\
genes
    Genes to test: names, a boolean column of `var` ("highly_variable"), or a mask (a Series is matched by its index).
    None: all. With donors (`sample`), p-values also depend on which genes are tested together: how much donors differ
    is estimated from all of them.""",
    "exploratory": """\
``exploratory`` says whether the tree was learned from the same genes (the fit's input was `X`, a layer or an
embedding of them) and nothing was done about it: p-values are then too small, since a tree follows the errors of
its genes.""",
    "n_knots": """\
n_knots
    Number of knots of the curves along the longest path of the tree, both ends included. "auto": 6. Shorter branches
    have proportionally fewer, and branches with few cells fewer still.""",
}
