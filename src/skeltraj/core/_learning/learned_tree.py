"""A learned tree, as it is returned."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skeltraj._printing import WIDTH, Printed, described
from skeltraj.core._branches.doubts import Evidence
from skeltraj.core._branches.starts import between_ends
from skeltraj.core._graph.graph import Graph
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import interruptible

from .ingest import Reference
from .learned import Learned
from .recipe import Recipe


@dataclass(frozen=True, repr=False, eq=False)
class LearnedTree(Learned, Printed):
    """A tree, with a record of the steps before and after its fit.

    Parameters
    ----------
    fit
        The tree after pruning, in the columns of the input, as the method's function returns it: `DDRTreeFit` or
        `PrincipalFit`.
    whole
        The same before pruning.
    smooth
        How the input was denoised; None: not at all.
    pruning
        What was pruned, with the gain of each removed branch; None: pruning was not tried.
    agreement
        For each start, how similar its tree is to the others, from starts and from parts of the rows, (n_starts,): the
        mean F1 of their branches as divisions of the rows. The tree with the largest is taken. None: there were no
        others.
    tips
        How the number of tips was chosen; None: it was not.
    recipe
        The steps with their parameters as resolved, to learn the tree again, as `stability` does. None for a kernel
        matrix.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> X = st.datasets.distorted_s(150).X
    >>> learned = core.learn_tree(X, n_starts=1, prune=False)
    >>> learned.graph.is_tree, len(learned.graph.tips)
    (True, 2)
    >>> learned.embedding.shape, learned.transform(X[:5]).shape
    ((150, 2), (5, 2))
    """

    recipe: Recipe | None = None

    def __repr__(self) -> str:
        doubt = self.doubt
        if doubt is None:
            return described(self)
        lines = textwrap.wrap(doubt, WIDTH, initial_indent="    ", subsequent_indent="    ")
        return "\n".join([described(self), "  in doubt", *lines])

    @property
    def graph(self) -> Graph:
        """The tree that is left as an object: tips, forks, branches."""
        return self.fit.graph

    @property
    def nodes(self) -> np.ndarray:
        """Its nodes, (n_nodes, n_components)."""
        return self.fit.nodes

    @property
    def edges(self) -> np.ndarray:
        """Pairs of nodes that it joins, (n_nodes - 1, 2)."""
        return self.fit.edges

    @property
    def embedding(self) -> np.ndarray:
        """Where the rows lie among the nodes, (n_obs, n_components)."""
        return self.fit.embedding

    @property
    def assignment(self) -> sparse.csr_matrix:
        """Share of each row in each node, (n_obs, n_nodes); rows sum to 1."""
        return self.fit.assignment

    @property
    def doubt(self) -> str | None:
        """What speaks against the tree as it is, in words.

        Trees from other starts and from parts of the rows differ, most of them lack a branch, or they leave the number
        of tips in doubt; for a line, they order the rows differently, or its ends are near each other. None: nothing
        speaks against it, or there were no trees from other starts.
        """
        if self.agreement is None or len(self.agreement) == 1:
            return None
        choice, starts = self.tips, self.starts
        if starts is not None and len(starts.found) != len(self.graph.branches):
            starts = None  # that of another tree
        evidence = Evidence(
            agreement=float(self.agreement.max()),
            branches=self.graph.branch_names.tolist(),
            found=None if starts is None else starts.found,
            values={} if choice is None else dict(zip(choice.n_tips.tolist(), choice.value.tolist(), strict=True)),
            order=float("nan") if starts is None else starts.order,
            ends=between_ends(self.graph),
            rows="rows",
        )
        of_branches, of_line = evidence.of_branches(), evidence.of_line()
        texts = []
        if of_branches is not None:
            texts.append(f"{of_branches.text} {of_branches.advice}. core.stability judges each branch.")
        if of_line is not None:
            texts.append(of_line.text)
        return " Also, ".join(texts) if texts else None

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where new rows come to lie among the nodes: denoised as those fitted, then held by the tree.

        Parameters
        ----------
        X
            (n_new, n_features), dense or sparse, in the units of the input.

        Returns
        -------
        (n_new, n_components). Most rows of the input come out as in `embedding`; see `DDRTreeFit.transform` for those
        that do not.
        """
        X = check.matrix(X, min_obs=1)
        if self.fit.node_space == "input" and X.shape[1] != self.nodes.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {self.nodes.shape[1]}.")
        reference = Reference(self.fit, self.embedding, self.whole.nodes, self.smooth, self.pruning)
        return reference.held(reference.smoothed(X))[0]
