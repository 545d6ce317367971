"""Six real data sets with labels, skeltraj's defaults beside other programs.

  python benchmarks/real_sets.py --quality FOLDER --data FOLDER --out real.csv [--methods skeltraj,paga_tree]
  python benchmarks/real_sets.py --quality FOLDER --data FOLDER --reference

FOLDER are the developers' trajectory benchmark (its `run.py`, `real.py`, `peers.py`) and data sets; neither is part of the
package. Added to the sets that the benchmark knows: Guo et al. 2010, Olsson et al. 2016 and HSMM (Trapnell et al. 2014).
Other options are those of the benchmark's `run.py`. Scores: see its `real.py`; `time_cor` and `label_cor` say how well the
order of the labels comes out, `label_ami` (0 for a line, also where a line is right) how branches match labels. With
`--reference`, what the labels' own tree has: its nodes at the means of their cells, every cell put on it where it is nearest.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def add_sets(real) -> None:
    """Teach the benchmark three more sets: expression on a log scale, labels, and how these follow one another."""

    def guo2010(folder: Path):
        table = pd.read_csv(folder / "guo2010/guo2010Data.csv.gz")
        # cycles until the limit of detection: a high number means much of it
        X = np.clip(28 - table[table.columns[2:]].to_numpy(float), 0, None)
        stages = [str(stage) for stage in sorted(table["stage"].unique())]
        return real._make(X, table["stage"], X), list(itertools.pairwise(stages)), stages[0]

    def olsson2016(folder: Path):
        table = pd.read_csv(folder / "olsson2016/Olsson.csv.gz")
        X = table[table.columns[:-1]].to_numpy(float)
        chain = [("HSPC-1", "HSPC-2"), ("HSPC-2", "Multi-Lin"), ("Multi-Lin", "MDP"), ("MDP", "Mono")]
        tree = [*chain, ("Multi-Lin", "Gran"), ("Gran", "Myelocyte"), ("HSPC-1", "Meg"), ("HSPC-1", "Eryth")]
        return real._make(X, table["labels"], np.clip(X, 0, None)), tree, "HSPC-1"

    def hsmm2014(folder: Path):
        table = pd.read_csv(folder / "hsmm2014/hsmm2014.csv.gz")
        X = table[table.columns[5:]].to_numpy(float)
        tree = [("0", "24"), ("24", "48"), ("48", "72")]
        return real._make(X, table["hours"].astype(str), np.round(2**X - 1)), tree, "0"

    real.SETS |= {"guo2010": guo2010, "olsson2016": olsson2016, "hsmm2014": hsmm2014}


def reference(real, peers, folder: Path) -> pd.DataFrame:
    """Scores of the labels' own tree, drawn through the means of their cells."""
    rows = {}
    for name in real.SETS:
        cells, tree, root, labels, start = real.load(name, [folder])
        X = np.asarray(cells.obsm["X_pca"], dtype=float)
        names = sorted({each for edge in tree for each in edge})
        nodes = np.array([X[labels == each].mean(axis=0) for each in names])
        edges = np.array([[names.index(a), names.index(b)] for a, b in tree])
        rows[name] = real.score(peers.from_principal_graph(X, nodes, edges), tree, root, labels, start)
    found = pd.DataFrame(rows).T
    return found.assign(mean=found[real.METRICS].mean(axis=1))


def main() -> None:
    """Run the benchmark with the sets added."""
    if "--quality" not in sys.argv:
        sys.exit(__doc__)
    at = sys.argv.index("--quality")
    sys.path.insert(0, str(Path(sys.argv[at + 1]).resolve()))
    del sys.argv[at : at + 2]
    import real
    import run

    add_sets(real)
    if "--reference" in sys.argv:
        import peers

        print(reference(real, peers, Path(sys.argv[sys.argv.index("--data") + 1])).round(3))
    else:
        run.main()


if __name__ == "__main__":
    main()
