from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from anndata import AnnData

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, OrderEntry, entry_of
from skeltraj._progress import Progress
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.basis import basis_key, on_basis
from skeltraj.get._reading.checks import category, holds_numbers, refuse_empty, refuse_read_lazily
from skeltraj.pl._page.certainty import convergence, direction, stability
from skeltraj.pl._page.changes import changes
from skeltraj.pl._page.document import Page, page, templates
from skeltraj.pl._page.file import target_of, write
from skeltraj.pl._page.groups import groups
from skeltraj.pl._page.overview import overview
from skeltraj.pl._page.parameters import parameters
from skeltraj.pl._page.section import Section, Study
from skeltraj.pl._page.survival import survival
from skeltraj.pl._page.tree import tree

# chosen by eye
_MAX_CHOSEN = 2  # columns that are chosen without being named
_MAX_GROUPS = 30  # of a column that is chosen
_BASES = ("X_umap", "X_tsne")


@as_declared
@shared_texts
def report(
    adata: AnnData,
    path: str | os.PathLike[str] | None = None,
    key: str = "ddrtree",
    *,
    groupby: str | Sequence[str] | None = None,
    genes: str | Sequence[str] | None = None,
    basis: str | None = None,
    title: str | None = None,
    interactive: bool | None = None,
    progress: bool | None = None,
) -> Path | Page:
    """Make one HTML page that reports on a stored skeleton.

    The page shows what is stored and computes nothing: what was learned; the tree, in the embedding and unfolded; where
    groups lie; what changes along it, with tables of genes to sort and to download; time to event; how certain the tree
    is; which way it runs; the objective, parameters and versions. Results that are not stored are named with the call
    that makes them, and results that no longer fit the cells with what is wrong. Pictures come on light and on dark
    background; the page follows the reader's setting and has a button to change it. It is one file that loads nothing
    from a network.

    Parameters
    ----------
    <adata_fitted>
    path
        The file to write; an existing one is replaced once the new one is complete. None: the HTML is returned, which a
        notebook shows.
    <key>
    groupby
        Categorical columns of `obs` by which cells are coloured and tabulated. None: up to two, with 2 to 30 groups:
        the one from which the root was taken, those with a stored composition, and those with stored colours; if there
        are none of these, the first ones. The page says which.
    genes
        Genes whose curves are drawn. None: those with the smallest p-values.
    basis
        An additional embedding to draw on, as for :func:`skeltraj.pl.graph`. None: UMAP or t-SNE, if there is one.
    title
        Of the page. None: the name of the fit.
    interactive
        Include an interactive view in three components (:func:`skeltraj.pl.graph_3d`; 5 MB more). None: if there are
        three components and plotly is installed.
    <progress>

    Returns
    -------
    The path of the file; without a path the HTML, a str.

    Raises
    ------
    ImportError
        If jinja2 is not installed, or plotly for ``interactive=True``.
    KeyError
        If there is no such fit, column, gene or basis.
    TypeError, ValueError
        If a column holds numbers, the order is that of another skeleton, or there is nowhere to write. Nothing is then
        written.

    Examples
    --------
    .. code-block:: python

        <example_picture>
        st.pl.report(adata, "tree.html", groupby="cell_type")
    """
    templates()
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={title!r} is a {type(title).__name__}; wanted a string.")
    target = None if path is None else target_of(path, "path")
    fit, skeleton = get.stored(adata, key), get.graph(adata, key)
    refuse_empty(adata)
    refuse_read_lazily(adata.obs, "adata.obs")
    ordered = get.ordered(adata, key) if Entry.ORDER in fit else None
    chosen, how = _groups(adata, key, groupby)
    study = Study(
        adata=adata,
        key=key,
        fit=fit,
        tree=skeleton,
        order=ordered,
        groupby=chosen,
        genes=_genes(adata, genes),
        basis=_basis(adata, key, basis),
        interactive=_interactive(interactive, skeleton.nodes.shape[1]),
    )
    parts = (overview, tree, groups, changes, survival, stability, direction, convergence, parameters)
    sections: list[Section] = []
    with Progress("report", progress) as shown:
        for part in parts:
            shown.sections(len(sections), len(parts))
            sections.append(part(study))
        shown.sections(len(sections), len(parts))
    text = page(
        title=f"The skeleton {key!r}" if title is None else title,
        lead=f"{adata.n_obs:,} cells and {adata.n_vars:,} genes, {how}.",
        sections=_arranged(sections),
        made=f"Made on {date.today().isoformat()} by skeltraj {version('skeltraj')} from adata.uns[{key!r}].",
    )
    if target is None:
        return text
    write(text, target)
    return target


def _arranged(sections: list[Section]) -> list[Section]:
    """The sections that hold something, and before the last what all of them lack."""
    calls = [lacking for section in sections for lacking in section.lacking]
    more = Section("more", "Not stored, and how to make it")
    more.calls(list({call: (what, call) for what, call in reversed(calls)}.values())[::-1])
    *rest, last = [section for section in sections if section.blocks]
    return [*rest, *([more] if calls else []), last]


def _groups(adata: AnnData, key: str, groupby: str | Sequence[str] | None) -> tuple[list[str], str]:
    """The columns by which cells are coloured, and in words which."""
    if groupby is not None:
        wanted = check.texts(groupby, "groupby")
        for name in wanted:
            category(adata, name, key)
        return wanted, f"grouped by {', '.join(wanted)}" if wanted else "not grouped"
    keys, fit = Keys(key), adata.uns[key]
    own = {keys.branch, keys.component, keys.far}
    once = adata.obs.columns[~adata.obs.columns.duplicated(keep=False)]  # those that are there twice cannot be read
    candidates = [str(name) for name in once if name not in own and _is_grouping(adata.obs[name])]
    rule = str(fit.get(Entry.ORDER, {}).get(OrderEntry.RULE, ""))

    def rank(name: str) -> tuple[bool, bool, bool]:
        composed = entry_of(name) in fit.get(Entry.COMPOSITION, {})
        return f" {name} = " not in rule, not composed, f"{name}_colors" not in adata.uns

    informative = [name for name in candidates if not all(rank(name))]
    chosen = sorted(informative or candidates, key=rank)[:_MAX_CHOSEN]
    others = [name for name in candidates if name not in chosen]
    if not chosen:
        return [], "not grouped"
    more = f"; other columns: {', '.join(others[:6])}{', ...' if len(others) > 6 else ''}" if others else ""
    return chosen, f"grouped by {' and '.join(chosen)} (chosen; groupby=[...] takes others{more})"


def _is_grouping(column: pd.Series) -> bool:
    if holds_numbers(column) or pd.api.types.is_datetime64_any_dtype(column):
        return False
    try:
        n_groups = column.nunique()
    except TypeError:  # of lists, say
        return False
    return 2 <= n_groups <= min(_MAX_GROUPS, max(2, len(column) // 2))


def _genes(adata: AnnData, genes: str | Sequence[str] | None) -> list[str] | None:
    if genes is None:
        return None
    wanted = check.texts(genes, "genes")
    unknown = [name for name in wanted if name not in adata.var_names]
    if unknown:
        raise KeyError(f"genes: {unknown[0]!r} is not in adata.var_names ({len(unknown)} of {len(wanted)} are not).")
    if not wanted:
        raise ValueError("genes is an empty list; wanted at least one, or None.")
    return wanted


def _basis(adata: AnnData, key: str, basis: str | None) -> str | None:
    if basis is None:
        candidates = [name for name in _BASES if name in adata.obsm and adata.obsm[name].shape[1] >= 2]
        return candidates[0].removeprefix("X_") if candidates else None
    on_basis(adata, basis)
    return None if basis_key(adata, basis) == Keys(key).coordinates else basis


def _interactive(interactive: bool | None, n_components: int) -> bool:
    if interactive is not None:
        return bool(check.choice(interactive, "interactive", (True, False)))
    return n_components > 2 and find_spec("plotly") is not None
