"""Which scaling of the features did the papers use? K-means and PCA under each, beside what is printed.

    python benchmarks/papers/calibrate.py --data FOLDER [--sets iris glass ...]

Prints a markdown table: for every set and scaling the dimension that keeps 95 % of the variance, and accuracy and NMI
of K-means on the features and on the principal components. `sets.py` takes from it how every set is scaled.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from methods import pca
from printed import DIMENSIONS, KDD, MPME
from protocol import accuracy, clusters, energy_dimension, nmi
from scalings import SCALINGS
from sets import SETS, unscaled


def line(cells: list) -> None:
    """A row of the markdown table."""
    print("|", " | ".join(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells), "|", flush=True)


def main() -> None:
    """Score the scalings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    given = parser.parse_args()
    line(["set", "scaling", "d", "K-means accuracy", "NMI", "PCA accuracy", "NMI"])
    line(["---"] * 7)
    for name in given.sets:
        numbers = (KDD | MPME)[name]
        line([name, "printed", DIMENSIONS[name], *numbers["K-means"], *numbers["PCA"]])
        labelled = unscaled(name, given.data)
        for scale in SCALINGS:
            X = scale(labelled.X)
            d = energy_dimension(X)
            scores = []
            for points in (X, pca(X, d)):
                labels = clusters(points, labelled.y.max() + 1)
                scores += [accuracy(labelled.y, labels), nmi(labelled.y, labels)]
            line([name, scale.__name__, d, *scores])


if __name__ == "__main__":
    main()
