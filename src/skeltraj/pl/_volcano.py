from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skeltraj import get
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys, TestEntry
from skeltraj._palette import palette_beside
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.pl._drawing.cell_style import CellStyle
from skeltraj.pl._drawing.cells import as_image
from skeltraj.pl._drawing.labels import draw_labels, keep_free
from skeltraj.pl._drawing.names_as_written import names_as_written
from skeltraj.pl._drawing.panels import draw_title, panels, shortened
from skeltraj.pl._drawing.show_or_return import check_show_or_return, show_or_return
from skeltraj.pl._drawing.style import ink, missing
from skeltraj.pl._drawing.values import values_of

# chosen by eye
_NAME_POINTS = 7.5
_MAX_VECTOR_POINTS = 2_000  # more genes are drawn as an image inside vector files
_RISES, _FALLS = "#D55E00", "#0072B2"
_LETTERS = 20  # of a gene's name
_MAX_AVOIDED = 300  # marks that names leave free
_TOP = 300.0  # -log10 q of genes whose q-value is too small for a number


@as_declared
@shared_texts
@names_as_written()
def volcano(
    adata: AnnData,
    test: str = "association",
    key: str = "ddrtree",
    *,
    n_labels: int = 12,
    q_max: float = 0.05,
    change_min: float = 0.0,
    gene_symbols: str | None = None,
    size: float | None = None,
    alpha: float = 0.7,
    legend: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    return_fig: bool | None = None,
) -> Axes | Figure:
    """Draw how much genes change against how significant the change is.

    For `tl.association`, the change is the largest difference from the root, to the left if the gene falls. For a fork
    with two arms, it is the second arm's mean minus the first one's; with more arms, the highest minus the lowest.
    Genes then have the colour of the branch in which they are highest.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.association` or :func:`skeltraj.tl.branch_test` was run.
    test
        "association", or the name of a branch test ("F1", "root-T2").
    <key>
    n_labels
        Number of genes to name: those with the smallest p-values among the coloured ones.
    q_max
        Largest adjusted p-value of the genes that are coloured; it is drawn as a dashed line if the axis reaches it.
    change_min
        Smallest absolute change of the genes that are coloured; it is drawn as dashed lines if the axis reaches them.
    gene_symbols
        Column of `var` with the names to write.
    size
        Area of a gene's mark, in square points. None: it depends on the number of genes.
    alpha
        Opacity of the marks.
    <legend>
    title
        Title of the picture. None: how many genes were tested and how many are coloured.
    <ax>
    <show>

    Returns
    -------
    The Axes; with `return_fig` the Figure.

    Raises
    ------
    KeyError
        If the test has not been run, or there is no such column.
    ValueError
        If a number is out of range, or the test is that of conditions.

    Examples
    --------
    .. plot::
        :include-source:

        import anndata as ad
        import numpy as np
        import scanpy as sc
        import skeltraj as st

        blood = sc.datasets.krumsiek11()
        blood.obs_names_make_unique()
        rng = np.random.default_rng(0)
        shape = (11, 300)  # each of 300 genes follows some of the eleven
        effect = rng.normal(0, 0.5, shape) * (rng.random(shape) < 0.1)
        counts = rng.poisson(np.exp(blood.X @ effect)).astype(np.float32)
        adata = ad.AnnData(counts, obs=blood.obs, obsm={"X_state": blood.X})
        adata.var_names = "gene " + adata.var_names
        st.tl.ddrtree(adata, use_rep="X_state")
        st.tl.order(adata, root={"cell_type": "progenitor"})
        st.tl.association(adata)
        st.pl.volcano(adata)
    """
    check_show_or_return(show, return_fig, ax)
    marks = CellStyle(size=size, alpha=alpha)
    n_labels = check.count(n_labels, "n_labels", at_least=0)
    q_max, change_min = check.number(q_max, "q_max", at_least=0), check.number(change_min, "change_min", at_least=0)
    check.text(test, "test")
    if test == "condition":
        raise ValueError(
            "test='condition': conditions have no volcano; wanted 'association' or a fork. Their table is "
            f"skeltraj.get.association(adata, test='condition', key={key!r})."
        )
    if test == "association":
        table = get.association(adata, key, gene_symbols=gene_symbols)
    else:
        table = get.branch_test(adata, test, key, gene_symbols=gene_symbols)
    attrs = table.attrs
    table = table[np.isfinite(table["pvals"]) & np.isfinite(table["logfoldchanges"])].reset_index(drop=True)
    change, label, group, tint = _sides(adata, table, attrs, test, key)
    height, capped = _heights(table["pvals_adj"].to_numpy())
    clear = (table["pvals_adj"].to_numpy() <= q_max) & (np.abs(change) >= change_min)
    [ax] = panels(1, ax=ax, three=False, ncols=1, width=5.4, height=4.4)
    area = float(np.clip(12_000 / max(len(table), 1), 6, 26)) if marks.size is None else marks.size
    style: dict[str, Any] = dict(s=area, linewidths=0, rasterized=as_image(len(table), _MAX_VECTOR_POINTS))
    ax.scatter(change[~clear], height[~clear], color=missing(), alpha=marks.alpha * 0.7, zorder=1, **style)
    for name, hue in tint.items():
        own = clear & (group == name)
        if own.any():
            ax.scatter(
                change[own],
                height[own],
                color=hue,
                alpha=marks.alpha,
                zorder=2,
                label=f"{name} ({own.sum():,})",
                **style,
            )
    ax.axvline(0, color=ink(), linewidth=0.5, alpha=0.5, zorder=0.5)
    top = max(height.max(initial=0.0), 1.0)
    ax.set_ylim(-0.03 * top, 1.16 * top)  # with room for names above the highest
    ax.margins(x=0.1)
    _limits(ax, q_max, change_min)
    ax.set_xlabel(label)
    ax.set_ylabel("-log10 q" + (f" (at most {_TOP:.0f})" if capped else ""))
    ax.spines[["top", "right"]].set_visible(False)
    what = "along the tree" if test == "association" else f"at {test}"
    limits = f"q ≤ {q_max:g}" + (f" and |change| ≥ {change_min:g}" if change_min > 0 else "")
    caption = f"{len(table):,} genes, {int(clear.sum()):,} with {limits} {what}"
    draw_title(ax, caption if title is None else title, size=10)
    if legend and clear.any():
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, handletextpad=0.2)
    first = np.flatnonzero(clear)[:_MAX_AVOIDED]  # the table is sorted by p-value
    named = first[:n_labels]
    names = [str(name) for name in table["names" if gene_symbols is None else gene_symbols].iloc[named]]
    names = [shortened(name, _LETTERS) for name in names]
    at, radius = np.column_stack([change, height]), float(np.sqrt(area)) / 2
    for point in at[first[n_labels:]]:
        keep_free(ax, point, radius)
    draw_labels(ax, at[named], names, size=_NAME_POINTS, weight="normal", radius=radius)
    return show_or_return(ax, show=show, return_fig=return_fig)


def _heights(q: np.ndarray) -> tuple[np.ndarray, bool]:
    with np.errstate(divide="ignore"):
        height = -np.log10(q)
    return np.minimum(height, _TOP), bool((height > _TOP).any())


def _limits(ax: Axes, q_max: float, change_min: float) -> None:
    """Dashed lines at what genes must reach to be coloured, as far as the axes reach."""
    style: dict[str, Any] = dict(color=ink(), linewidth=0.7, linestyle=(0, (4, 3)), zorder=0.5)
    low, high = ax.get_xlim()
    if q_max > 0 and -np.log10(q_max) <= ax.get_ylim()[1]:
        ax.axhline(-np.log10(q_max), **style)
    for change in (-change_min, change_min) if change_min > 0 else ():
        if low <= change <= high:
            ax.axvline(change, **style)


def _sides(
    adata: AnnData, table: pd.DataFrame, attrs: dict[str, Any], test: str, key: str
) -> tuple[np.ndarray, str, np.ndarray, dict[str, str]]:
    """The change of each gene, what it is, the group by which it is coloured, and the groups' colours."""
    counts = attrs.get(TestEntry.FAMILY) == "negative_binomial"
    unit = "log2 fold change" if counts else "change"
    change = table["logfoldchanges"].to_numpy(dtype=np.float64)
    if Column.UP not in table:
        group = np.where(change >= 0, "rises", "falls")
        if test == "association":
            return change, f"largest {unit} from the root", group, {"rises": _RISES, "falls": _FALLS}
        start, _, end = test.partition("-")
        group = np.where(change >= 0, f"up in {end}", f"up in {start}")
        return change, f"{unit}, {end} over {start}", group, {f"up in {end}": _RISES, f"up in {start}": _FALLS}
    color = values_of(adata, Keys(key).branch).color_of
    # branches without cells, as after taking some cells alone, have no colour of their own any more
    lost = [str(name) for name in get.graph(adata, key).branch_names if name not in color]
    color |= dict(zip(lost, palette_beside(list(color.values()), len(lost)), strict=True))
    prefix = f"{Column.CHANGE}_"
    arms = [name.removeprefix(prefix) for name in table.columns if name.removeprefix(prefix) in color]
    up = table[Column.UP].astype(str).to_numpy()
    tint = {f"{name} up": color[name] for name in arms}
    group = np.array([f"{name} up" for name in up], dtype=object)
    if len(arms) == 2:
        first, second = arms
        difference = (table[prefix + second] - table[prefix + first]).to_numpy(dtype=np.float64)
        return difference, f"{unit}, {second} over {first}", group, tint
    return change, f"{unit}, highest over lowest of {len(arms)} arms", group, tint
