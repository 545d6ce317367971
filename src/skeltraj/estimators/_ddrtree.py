from __future__ import annotations

from typing import Any, Literal

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.estimators._bases.embedding import EmbeddingEstimator
from skeltraj.estimators._bases.skeleton import Seed


@texts_of(core.ddrtree)
class DDRTree(EmbeddingEstimator):
    """DDRTree: an embedding and a tree of nodes in it, learned together; see `skeltraj.core.ddrtree`.

    This is the fit alone; `TreeLearner` denoises the rows first and prunes the tree.

    Parameters
    ----------
    <n_components>
    <n_nodes>
    <lam>
    <sigma>
    <gamma>
    <assignment>
    <center>
    kernel
        "precomputed": `X` is a kernel matrix, (n_obs, n_obs), and new rows hold their values with the fitted ones.
    <preset>
    <init>
    <max_iter>
    <tol>
    <extrapolate>
    <least_weight>
    <random_state>

    Attributes
    ----------
    embedding_
        The fitted rows in the embedding, (n_obs, n_components).
    nodes_
        Nodes of the tree in the embedding, (n_nodes, n_components).
    edges_
        Pairs of nodes that the tree joins, (n_nodes - 1, 2).
    <assignment_>
    components_
        Orthonormal loadings, (n_components, n_features); with a kernel, coefficients of the fitted rows,
        (n_components, n_obs).
    mean_
        What was subtracted from each row, (n_features,).
    objective_
        Value of the objective at the start of each round and at the end, ``(n_iter_ + 1,)``.
    converged_
        Whether its relative change fell to `tol`.
    n_iter_
        Rounds run.
    params_
        Parameters as resolved.
    graph_
        The tree as an object: tips, forks, branches.
    result_
        The `skeltraj.core.DDRTreeFit` from which all of these come.
    n_features_in_
        Number of columns of `X`.
    feature_names_in_
        Their names, where `X` has names of type str.

    References
    ----------
    Mao, Wang, Goodison, Sun. Dimensionality reduction via graph structure learning. KDD 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skeltraj.estimators import DDRTree
    >>> tree = DDRTree(n_components=2).set_output(transform="pandas")
    >>> list(tree.fit_transform(load_iris().data).columns)
    ['ddrtree0', 'ddrtree1']
    """

    _learn = staticmethod(core.ddrtree)

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        n_nodes: int | Literal["auto", "all"] | None = "auto",
        lam: float | Literal["auto"] = "auto",
        sigma: float | Literal["auto"] = "auto",
        gamma: float | Literal["auto"] = "auto",
        assignment: Literal["soft", "hard"] = "soft",
        center: bool = True,
        kernel: Literal["precomputed"] | None = None,
        preset: Literal["kdd2015", "monocle2"] | None = None,
        init: Any = None,
        max_iter: int | Literal["auto"] = "auto",
        tol: float | Literal["auto"] = "auto",
        extrapolate: bool = False,
        least_weight: float = 0.0,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nodes = n_nodes
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.assignment = assignment
        self.center = center
        self.kernel = kernel
        self.preset = preset
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.extrapolate = extrapolate
        self.least_weight = least_weight
        self.random_state = random_state
