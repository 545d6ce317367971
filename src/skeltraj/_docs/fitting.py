"""Texts about learning a skeleton and storing it."""

from __future__ import annotations

_RAISES = """\
Raises
------
KeyError
    If the input named is not there.
TypeError, ValueError
    If the input or a parameter is not usable; see the function of the same name in :mod:`skeltraj.core`. `adata` is
    then unchanged."""

_MAX_ITER = """\
max_iter
    Largest number of rounds."""

_PROGRESS = """\
progress
    Show a bar on standard error. None: once the work has taken a second, in a terminal or notebook; not in pipes, files
    and continuous integration (the environment variable CI), nor if scanpy's verbosity is 0."""

_COPY = """\
copy
    Return a copy instead of storing in `adata`."""

TEXTS = {
    "n_components": """\
n_components
    Dimensions of the embedding; or, between 0 and 1, the share of the variance that the leading principal
    components must keep, which sets them.""",
    "use_rep_layer": """\
use_rep
    Key in `obsm` of the input, or "X". Default: "X_pca" if there is one, else "X".
layer
    Layer to take as the input instead.""",
    "kernel": """\
kernel
    Key in `obsp` of a kernel matrix (inner products) to take as the input instead.""",
    "init": """\
init
    Where to start: None for PCA, a key in `obsm`, an array (n_obs, n_components), or a function of the input that
    returns one; rows of a DataFrame by its index. Of DDRTree also a pair of an embedding and nodes, or a fit of other
    cells (:class:`skeltraj.core.DDRTreeFit`); then, unless asked for, nothing is denoised or pruned.""",
    "gamma_sigma": """\
gamma
    Weight of the data against the length of the skeleton. "auto": ``2 n_nodes / (3 n_obs)``.
sigma
    Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
    distance to the 15th neighbour (of n < 300 cells: the n // 20-th, at least the 2nd), of at most 256 cells
    spread over the data, divided by the number of dimensions in which neighbours differ.""",
    "assignment_init": """\
assignment
    "soft", or "hard": each cell to its nearest node.
init
    Nodes to start from, (n_nodes, n_features), which also sets `n_nodes`.""",
    "center": """\
center
    Subtract the column means first.""",
    "denoise": """\
denoise
    Whether to smooth the input first: twice each cell is averaged with its nearest neighbours, found in the 30 leading
    principal components (or `n_components`, if more), but stays where it is along the direction in which these run. See
    :func:`skeltraj.core.denoise`. "auto": yes, with 15 neighbours (of n < 300 cells: n // 20, at least 2); no with a
    preset, a kernel, or nodes to start from. A number sets the neighbours; False or 0: no. Or a dict of
    ``n_neighbors``, ``n_steps``, ``n_tangents`` (0: plain means), and of two treatments, of which at most one is done:

    - ``equalize`` (True, False, "auto"): scale directions so that noise is alike in all of them, which helps where a
      few components hold most of it. "auto": where trees learned from halves of the cells (`prune`) speak for it; not
      where there are no halves, nor in `principal_tree`.
    - ``compress`` (True, False, "auto"): shorten heavy tails, as of Pearson residuals. "auto": where there are any.""",
    "n_starts": """\
n_starts
    From how many starts of the nodes to fit. Of the trees, pruned, that one is taken whose branches are most like those
    of the others and of parts of the cells (`prune`), as divisions of the cells. Several fits of cells that are
    denoised end at a tolerance of 1e-4, if `tol` is not larger and `max_iter` not given, like those of parts; the last
    fit begins where the tree chosen ended. Of more than 7,500 cells the several fits are of a sample of 5,000, and the
    last goes through a sample of 20,000 if there are more than 30,000. "auto": 5; 1 with a preset, a kernel, a start
    (`init`) or a number of nodes, and of more than 10,000 cells that are not denoised.""",
    "prune": """\
prune
    Whether to remove branches that the data do not support. Four more trees are learned, from the halves of two random
    divisions of the cells (of up to 3,000 cells each), and the number of tips is chosen with which they agree best with
    the trees of all cells (:class:`skeltraj.core.TipChoice`); of fewer than 60 cells the trees from the starts are
    compared instead. "auto": yes, but not with a preset or a given number of nodes. Or a dict of ``n_tips`` or
    ``min_gain``, in place of that choice alone, and ``resolution``; the halves then tell how the input is denoised as
    they do by default. :func:`skeltraj.tl.prune` decides otherwise later.""",
    "max_iter": _MAX_ITER,
    "max_iter_tol": f"""\
{_MAX_ITER}
tol
    Relative change of the objective at which to stop.""",
    "max_steps_tol": """\
max_iter
    Largest number of steps.
tol
    Stop when the duality gap is at most this for each cell (`tl.spl`: times half the components).""",
    "rng_nodes": """\
rng
    Seed or generator for the nodes' start.""",
    "random_state": """\
random_state
    Seed, RandomState or generator for the nodes' start; None takes numpy's global one.""",
    "assignment_": """\
assignment_
    Share of each fitted row in each node, CSR, (n_obs, n_nodes); rows sum to 1.""",
    "rng": """\
rng
    Seed or generator.""",
    "n_permutations": """\
n_permutations
    Number of permutations.""",
    "callback": """\
callback
    Called as ``callback(round, objective)`` at the start and after every round; a true answer stops the fit.""",
    "name": """\
name
    What messages call `X`.""",
    "progress": _PROGRESS,
    "copy": _COPY,
    "storing": f"""\
key_added
    Name under which to store.
{_PROGRESS}
{_COPY}""",
    "stored": """\
``params`` (as resolved, with the version), ``nodes``, ``edges``, ``edge_length``, ``objective`` (at the start of
each round and at the end), ``converged``, ``n_iter``""",
    "stored_input": """\
``input`` (by which later steps know whether it is still what was fitted: ``n_columns``, their ``var_names`` if they
are genes, and of up to 200 ``cells`` the ``size`` and a ``number`` that depends on all values; not of a kernel)""",
    "stored_more": """\
``denoise`` (if the input was denoised: what it takes to denoise other cells alike), ``agreement`` (of each
start, mean F1 of the branches of its tree with those of the others, from starts and from parts of the cells,
(n_starts,); that with the largest is stored), ``starts`` (table of the branches: ``support``, the largest Jaccard
index with a branch of another of these trees, mean over them; ``found_again``, the share of them in which that is
above 1/2; of a line also ``order``, the rank correlation of the cells' order with those of the others that are
lines, mean over them), ``tip_choice`` (table of the numbers of tips between which was chosen; see
:class:`skeltraj.core.TipChoice`),
``pruned`` (if the tree was pruned: report and the tree as fitted, see :func:`skeltraj.tl.prune`)""",
    "stored_similarity": """\
``weights`` (similarity of each edge), ``value`` (of the maximised function),
``certificate`` (``kkt_violation``, ``duality_gap``: the true maximum is at most so much higher). The nodes are the
cells, the edges pairs of similar cells.""",
    "errors": f"""\
Results of an earlier fit of that name, its order included, are removed.

{_RAISES}

Warns
-----
UserWarning
    If the fit stopped at `max_iter` before it converged, or the input looks like raw counts.""",
    "warns_of_trees": """\
    Also if trees from other starts and from parts of the cells differ, most of them lack a branch, or they leave the
    number of tips in doubt; of a line, if they have the cells in other orders, or its ends are near each other.""",
    "warns_of_columns": """\
    Also if the input has more than 500 columns: nodes, and the coordinates of all cells, are stored with as many.""",
    "errors_similarity": f"""\
Results of an earlier fit of that name, its order included, are removed. For branches, learn a tree in the embedding,
for example by :func:`skeltraj.tl.principal_tree` with its key as `use_rep`.

{_RAISES}

Warns
-----
UserWarning
    If the maximum could not be proved to `tol`, the similarities leave the cells in several parts, or the input looks
    like raw counts.""",
}
