"""More representations of the same cells, as users make them: genes weighed otherwise, factors, smoothed counts.

Each takes AnnData with ``layers["counts"]`` and ``var["highly_variable"]`` and returns one row for each cell.
"""

from __future__ import annotations

import anndata as ad
import numpy as np
import scanpy as sc
from scipy import sparse
from scipy.stats import rankdata
from sklearn.decomposition import NMF, PCA, FactorAnalysis, TruncatedSVD


def counts_of(cells: ad.AnnData) -> ad.AnnData:
    """The counts alone."""
    counts = sparse.csr_matrix(cells.layers["counts"], dtype="float32")
    return ad.AnnData(counts, obs=cells.obs[[]].copy(), var=cells.var[["highly_variable"]].copy())


def logarithms(cells: ad.AnnData, total: float | None = None) -> ad.AnnData:
    """Totals brought to their median, or to `total`, and logarithms."""
    logs = counts_of(cells)
    sc.pp.normalize_total(logs, target_sum=total)
    sc.pp.log1p(logs)
    return logs


def variable(cells: ad.AnnData) -> np.ndarray:
    """Dense matrix of the genes that vary."""
    return cells[:, cells.var["highly_variable"]].X.toarray().astype(float)


def components(matrix: np.ndarray, n: int = 30) -> np.ndarray:
    """Principal components, as many as there are, if fewer."""
    n = min(n, *(size - 1 for size in matrix.shape))
    return PCA(n, svd_solver="arpack", random_state=0).fit_transform(np.asarray(matrix, dtype=float))


def expected(cells: ad.AnnData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts; those expected if all cells were alike but for their totals; the totals."""
    counts = counts_of(cells).X.toarray().astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    return counts, np.maximum(totals * (counts.sum(axis=0) / counts.sum()), 1e-9), totals


def log1p_million(cells):
    """Totals brought to a million: noise of low counts weighs most."""
    return components(variable(logarithms(cells, 1e6)))


def all_genes(cells):
    """Logarithms of all genes."""
    return components(logarithms(cells).X.toarray())


def log1p_5(cells):
    """Five components."""
    return components(variable(logarithms(cells)), 5)


def log1p_100(cells):
    """A hundred components."""
    return components(variable(logarithms(cells)), 100)


def whitened_30(cells):
    """Thirty components of unit variance each."""
    scores = components(variable(logarithms(cells)))
    return scores / scores.std(axis=0)


def scaled_all_50(cells):
    """All genes z-scored after the logarithm and clipped at 10, 50 components."""
    logs = logarithms(cells, 1e4).X.toarray().astype(float)
    spread = logs.std(axis=0)
    scaled = (logs - logs.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    return components(np.minimum(scaled, 10), 50)


def cosine(cells):
    """Logarithms of each cell brought to unit length."""
    logs = variable(logarithms(cells))
    return components(logs / np.linalg.norm(logs, axis=1, keepdims=True))


def acosh(cells):
    """Variance stabilised for an overdispersion of 0.05 (Ahlmann-Eltze and Huber 2023)."""
    counts, _, totals = expected(cells)
    stable = np.arccosh(2 * 0.05 * counts / (totals / totals.mean()) + 1)
    return components(stable[:, cells.var["highly_variable"]])


def clipped_residuals(cells):
    """Residuals of negative binomial counts (theta = 10), clipped at sqrt(n / 30), much as sctransform's."""
    counts, mean, _ = expected(cells)
    most = np.sqrt(len(counts) / 30)
    residuals = np.clip((counts - mean) / np.sqrt(mean + mean**2 / 10), -most, most)
    return components(residuals[:, cells.var["highly_variable"]])


def deviance_residuals(cells):
    """Binomial deviance residuals (Townes et al. 2019)."""
    counts, mean, totals = expected(cells)
    with np.errstate(all="ignore"):
        of_gene = np.where(counts > 0, counts * np.log(counts / mean), 0)
        rest = np.where(totals > counts, (totals - counts) * np.log((totals - counts) / (totals - mean)), 0)
    residuals = np.sign(counts - mean) * np.sqrt(np.maximum(2 * (of_gene + rest), 0))
    return components(residuals[:, cells.var["highly_variable"]])


def tf_idf(cells):
    """Term frequencies times inverse document frequencies, as for open chromatin; the first component is left out."""
    counts = counts_of(cells).X
    n_with = np.asarray((counts > 0).sum(axis=0)).ravel()
    weighed = sparse.diags(1 / np.asarray(counts.sum(axis=1)).ravel()) @ counts
    weighed = (weighed @ sparse.diags(np.log1p(counts.shape[0] / (1 + n_with)))).tocsr()
    weighed.data = np.log1p(1e4 * weighed.data)
    n = min(30, weighed.shape[1] - 1)
    return TruncatedSVD(n, algorithm="arpack", random_state=0).fit_transform(weighed)[:, 1:]


def ranks(cells):
    """Ranks of the genes in each cell."""
    return components(rankdata(counts_of(cells).X.toarray(), axis=1)[:, cells.var["highly_variable"]])


def detected(cells):
    """Whether a gene was seen at all."""
    return components(variable(counts_of(cells)) > 0)


def factors(cells):
    """Ten factors of factor analysis, each of about unit variance."""
    return FactorAnalysis(10, random_state=0, max_iter=300).fit_transform(variable(logarithms(cells)))


def nonnegative_factors(cells):
    """Fifteen factors of a non-negative factorisation."""
    return NMF(15, init="nndsvda", random_state=0, max_iter=300).fit_transform(variable(logarithms(cells)))


def with_neighbors(cells):
    """Logarithms with a graph of 15 neighbours."""
    logs = logarithms(cells)
    logs.obsm["X_pca"] = components(variable(logs)).astype("float32")
    sc.pp.neighbors(logs, 15)
    return logs


def smoothed(cells):
    """Genes averaged three times over the graph of neighbours, much as MAGIC does."""
    logs = with_neighbors(cells)
    weights = logs.obsp["connectivities"]
    weights = sparse.diags(1 / np.asarray(weights.sum(axis=1)).ravel()) @ weights
    return components(weights @ (weights @ (weights @ variable(logs))))


def diffusion(cells):
    """Fourteen components of a diffusion map."""
    logs = with_neighbors(cells)
    sc.tl.diffmap(logs, 15)
    return logs.obsm["X_diffmap"][:, 1:]


REPRESENTATIONS = {
    make.__name__: make
    for make in (
        log1p_million,
        all_genes,
        log1p_5,
        log1p_100,
        whitened_30,
        scaled_all_50,
        cosine,
        acosh,
        clipped_residuals,
        deviance_residuals,
        tf_idf,
        ranks,
        detected,
        factors,
        nonnegative_factors,
        smoothed,
        diffusion,
    )
}
