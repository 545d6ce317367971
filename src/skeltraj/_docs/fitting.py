"""Texts about learning a skeleton and storing it."""

from __future__ import annotations

_RAISES = """\
Raises
------
KeyError
    If the named input does not exist.
TypeError, ValueError
    If the input or a parameter is invalid; see the function of the same name in :mod:`skeltraj.core`. `adata` is then
    unchanged."""

_MAX_ITER = """\
max_iter
    Largest number of rounds."""

_PROGRESS = """\
progress
    Show a progress bar on standard error. None: after one second of work, in a terminal or notebook; not in pipes,
    files or continuous integration (the environment variable CI), nor if scanpy's verbosity is 0."""

_COPY = """\
copy
    Return a copy instead of storing in `adata`."""

TEXTS = {
    "n_components": """\
n_components
    Number of dimensions of the embedding; or, between 0 and 1, the share of the variance that the leading principal
    components must keep, which determines that number.""",
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
    returns one; a DataFrame is matched by its index. For DDRTree, also a pair of an embedding and nodes, or a fit of
    other cells (:class:`skeltraj.core.DDRTreeFit`); then nothing is denoised or pruned unless you ask for it.""",
    "gamma_sigma": """\
gamma
    Weight of the data against the length of the skeleton. "auto": ``2 n_nodes / (3 n_obs)``.
sigma
    Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
    distance to the 15th neighbour (of n < 300 cells: the n // 20-th, at least the 2nd), of at most 256 cells
    spread over the data, divided by the number of dimensions in which neighbours differ.""",
    "assignment_init": """\
assignment
    "soft", or "hard", which assigns each cell to its nearest node.
init
    Nodes to start from, (n_nodes, n_features), which also sets `n_nodes`.""",
    "center": """\
center
    Subtract the column means first.""",
    "denoise": """\
denoise
    Whether to smooth the input first: each cell is averaged twice with its nearest neighbours, found in the 30 leading
    principal components (or `n_components`, if more), but keeps its place along the direction in which these run. See
    :func:`skeltraj.core.denoise`. "auto": yes, with 15 neighbours (for n < 300 cells: n // 20, at least 2), but not
    with a preset, a kernel, or nodes to start from. A number sets the neighbours (halves of the cells, `prune`, take as
    many, fewer if they have fewer than 300 cells); False or 0: no. Or a dict of ``n_neighbors``, ``n_steps``,
    ``n_tangents`` (0: plain means), and two treatments, of which at most one is applied:

    - ``equalize`` (True, False, "auto"): scale directions so that noise is equal in all of them, which helps if a few
      components hold most of it; `sigma` and a `resolution` are then in these units. "auto": if trees learned from
      halves of the cells (`prune`) favour it; not if there are no halves.
    - ``compress`` (True, False, "auto"): shorten heavy tails, such as those of Pearson residuals. "auto": if there are
      any.""",
    "n_starts": """\
n_starts
    Number of starts of the nodes. The pruned trees are compared by how their branches divide the cells, and the one
    that is most similar to the others, and to those of parts of the cells (`prune`), is taken. When denoised cells are
    fitted from several starts, these fits, like those of parts, end at a tolerance of 1e-4, unless `tol` is larger; a
    last fit begins where the chosen tree ended. (If another `max_iter` than 200 is given with up to 7,500 cells, they
    run to their end, and one of them is the result.) With more than 7,500 cells, the several fits use a sample of
    5,000, if it has ten cells for each node; the last fit goes through a sample of 20,000 with more than 30,000 cells,
    and then one of 80,000 with more than 400,000, and each of these has up to `max_iter` rounds. "auto": 5; 1 with a
    preset, a kernel, a start (`init`) or a number of nodes, and with more than 10,000 cells that are not denoised.""",
    "prune": """\
prune
    Whether to remove branches that the data do not support. Four more trees are learned, from the halves of two random
    divisions of the cells (of up to 3,000 cells each), and the number of tips is chosen at which they agree best with
    the trees of all cells (:class:`skeltraj.core.TipChoice`); with fewer than 60 cells, the trees from the starts are
    compared instead. A given `sigma` holds for the halves as well; by default theirs follows from their cells. "auto":
    yes, but not with a preset or a given number of nodes. Or a dict of ``n_tips`` or ``min_gain``, which replaces only
    this choice, and ``resolution``; the halves still determine how the input is denoised, as by default. If the
    tree as it was fitted has fewer tips than ``n_tips``, it keeps these, with a warning. :func:`skeltraj.tl.prune` can
    change the result later.""",
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
    "rng_unused": """\
rng
    Seed or generator, as every method takes one; not used, since nothing is drawn.""",
    "random_state": """\
random_state
    Seed, RandomState or generator for the nodes' start; None uses numpy's global one.""",
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
    Called as ``callback(round, objective)`` at the start and after every round; a true return value stops the fit.""",
    "name": """\
name
    Name of `X` in messages.""",
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
``input`` (by which later steps recognise whether the input has changed: ``n_columns``, their ``var_names`` if
they are genes, and for up to 200 ``cells`` the ``size`` and a ``number`` that depends on all values; not for a
kernel)""",
    "stored_more": """\
in ``params`` also ``n_starts``, and ``rng`` if it is a seed,
``denoise`` (if the input was denoised: what is needed to denoise other cells in the same way), ``agreement`` (for
each start, the mean F1 of the branches of its tree with those of the other trees, from starts and from parts of
the cells, (n_starts,); the tree with the largest is stored), ``starts`` (table of the branches: ``support``, the
largest Jaccard index with a branch of another of these trees, mean over them; ``found_again``, the share of them
in which that is above 1/2; for a line also ``order``, the rank correlation of the cells' order with the orders of
the other lines, mean over them), ``tip_choice`` (table of the candidate numbers of tips; see
:class:`skeltraj.core.TipChoice`), ``pruned`` (if the tree was pruned: report and the tree as fitted, see
:func:`skeltraj.tl.prune`)""",
    "stored_similarity": """\
``weights`` (similarity of each edge), ``value`` (of the maximised function),
``certificate`` (``kkt_violation``, ``duality_gap``: the true maximum is higher by at most this much). The nodes
are the cells, the edges pairs of similar cells.""",
    "errors": f"""\
Results of an earlier fit with the same name, including its order, are removed.

{_RAISES}

Warns
-----
UserWarning
    If the fit stopped at `max_iter` before it converged, or the input looks like raw counts.""",
    "warns_of_trees": """\
    Also if trees from other starts and from parts of the cells differ, if most of them lack a branch, or if they leave
    the number of tips in doubt; for a line, if they order the cells differently, or if its ends are near each
    other.""",
    "warns_of_columns": """\
    Also if the input has more than 500 columns: nodes, and the coordinates of all cells, are stored with as many.""",
    "errors_similarity": f"""\
Results of an earlier fit with the same name, including its order, are removed. For branches, learn a tree in the
embedding, for example by :func:`skeltraj.tl.principal_tree` with its key as `use_rep`.

{_RAISES}

Warns
-----
UserWarning
    If the maximum could not be proved to `tol`, if the similarities leave the cells in several parts, or if the input
    looks like raw counts.""",
}
