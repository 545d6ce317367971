"""Two pictures of the README, quality and speed beside other programs, from the tables of the pages that measured them.

    python docs/images/compare.py

Reads the tables of benchmarks/pages and docs/speed.md; writes quality.png and compared_speed.png
beside this script.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullLocator

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "benchmarks/pages"
STYLE = {  # of each program: colour and mark
    "skeltraj": ("#0072b2", "o"),
    "scFates": ("#d55e00", "s"),
    "PAGA": ("#009e73", "D"),
    "ElPiGraph": ("#cc79a7", "v"),
    "Monocle 2": ("#e69f00", "^"),
    "R's DDRTree": ("#8c510a", "<"),
    "spanning trees": ("#777777", "P"),
}


def tables(path):
    """Every table of a page: lists of rows, each a list of cells."""
    text = path.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [[cell.strip(" *") for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield [rows[0], *rows[2:]]


def table(path, *first):
    """The table whose first row begins so."""
    return next(rows for rows in tables(path) if rows[0][: len(first)] == list(first))


def number(text):
    """A number as a cell of a table has it."""
    return float(text.split("(")[0].replace(",", "").replace("`", ""))


def draw_lines(ax, labels, series, x_label):
    """A row for each label, a mark for each program."""
    rows = range(len(labels), 0, -1)
    for y in rows:
        ax.axhline(y, color="#e6e6e6", linewidth=0.8, zorder=0)
    for name, values in series.items():
        if name == "true tree":
            ax.scatter(values, rows, marker="|", s=150, color="black", linewidth=1.6, label="the true tree")
        else:
            color, mark = STYLE[name]
            size = 62 if name == "skeltraj" else 34
            ax.scatter(values, rows, color=color, marker=mark, s=size, label=name, zorder=3 + (name == "skeltraj"))
    ax.set_yticks(list(rows), labels)
    ax.set_ylim(0.4, len(labels) + 0.6)
    ax.set_xlabel(x_label)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def quality():
    """Scores on simulated cells by preparation, and on real sets."""
    by_preparation = table(PAGES / "preparations.md", "", "`log1p`")
    names = {
        "log1p": "logarithms",
        "scaled": "z-scores",
        "cpm": "to 10,000 counts",
        "sqrt": "square roots",
        "pearson": "Pearson residuals",
        "whitened": "whitened",
        "unnormalised": "depth left in",
    }
    labels = [names[cell.strip("`")] for cell in by_preparation[0][1:]]
    called = {"oracle": "true tree", "ensemble": "spanning trees"}
    simulated = {called.get(row[0], row[0]): [number(cell) for cell in row[1:]] for row in by_preparation[1:]}

    parts = next(rows for rows in tables(PAGES / "real_sets.md") if rows[0][-1] == "short")
    chosen = {
        "skeltraj": "skeltraj",
        "scFates, principal tree on PCA": "scFates",
        "PAGA": "PAGA",
        "ElPiGraph": "ElPiGraph",
        "Monocle 2": "Monocle 2",
        "R's DDRTree": "R's DDRTree",
        "k-means and a spanning tree": "spanning trees",
    }
    real = {chosen[row[0]]: [number(cell) for cell in row[1:8]] for row in parts[1:] if row[0] in chosen}

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    draw_lines(left, labels, simulated, "score (252 cases; 1 is the true tree, exactly)")
    left.set_title("Simulated cells, by preparation", loc="left", fontsize=12)
    draw_lines(right, parts[0][1:8], real, "order of labels (means of twelve parts of the cells)")
    right.axhline(1.5, color="#999999", linewidth=0.8)
    right.set_title("Six real sets, by known labels", loc="left", fontsize=12)
    handles = {}
    for ax in (left, right):
        handles.update(dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True)))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=8, frameon=False)
    figure.savefig(HERE / "quality.png", dpi=120)


def thousands(ax):
    """Plain numbers on both axes."""
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def speed():
    """One fit of DDRTree over the number of cells, and whole trees of several programs."""
    rows = table(HERE.parent / "speed.md", "cells", "skeltraj, s")[1:]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=[1.15, 1])
    for column, name, style, up in (  # by how much the name stands higher than the last point
        (2, "R's DDRTree", "R's DDRTree", 6),
        (3, "ddrtree-python", "Monocle 2", -6),
        (1, "skeltraj", "skeltraj", 0),
    ):
        points = [
            (number(row[0]), number(row[column]))
            for row in rows
            if re.match(r"[\d.]", row[column]) and re.match(r"\d", row[0])
        ]
        color, mark = STYLE[style]
        left.plot(*zip(*points, strict=True), color=color, marker=mark, linewidth=2)
        x, y = points[-1]
        left.annotate(name, (x, y), (8, up), textcoords="offset points", va="center", color=color)
    left.set(xscale="log", yscale="log", xlim=(700, 8e5), xlabel="cells", xticks=[1e3, 1e4, 1e5])
    left.set_title("One DDRTree fit: seconds for 20 rounds", loc="left", fontsize=12)
    left.grid(color="#e6e6e6")
    thousands(left)

    [names, *measured] = table(PAGES / "whole_tree_speed.md", "cells", "skeltraj")
    for column, name in enumerate(names[1:], 1):
        color = STYLE["skeltraj"][0] if name == "skeltraj" else "#777777"
        points = [(number(row[0]), number(row[column])) for row in measured if row[column]]
        right.plot(*zip(*points, strict=True), color=color, marker="o", linewidth=2 if name == "skeltraj" else 1.2)
        if len(points) == 1:  # else its name would stand on the lines of others
            right.annotate(name, points[0], (8, -10), textcoords="offset points", va="center", color=color)
        else:
            right.annotate(name, points[-1], (8, 0), textcoords="offset points", va="center", color=color)
    right.set(xscale="log", yscale="log", xlim=(2e3, 3e6), xlabel="cells", xticks=[3e3, 3e4, 3e5])
    right.grid(color="#e6e6e6")
    thousands(right)
    right.set_title("A whole tree, to pseudotime: seconds", loc="left", fontsize=12)
    right.spines[["top", "right", "left"]].set_visible(False)
    left.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "compared_speed.png", dpi=120)


if __name__ == "__main__":
    plt.rcParams.update({"font.size": 11})
    quality()
    speed()
