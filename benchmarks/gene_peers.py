"""Tests of genes by other programs on given counts, lineages and pseudotimes, each in a process of its own.

    python benchmarks/gene_peers.py --peer-python PATH --cells 400 --flat 20 --each 2    do the programs run?

`gene_power.py` and `gene_speed.py` import this. What the programs answer is kept in a folder by a digest of the counts,
so that a second run asks them nothing.

- tradeSeq: the Python port tradeseq-python, run by the interpreter given with ``--peer-python``: `fit_gam` with its 6
  knots, `association_test`, and `pattern_test` between the lineages. By default the first inverts by Cholesky and many
  genes have no p-value; with ``inverse="eigen"`` (here "association, eigen") fewer are without on a fork.
- Monocle 2, run through ``Rscript`` (``apt install r-bioc-monocle``): `differentialGeneTest` along pseudotime, and what
  `BEAM` calls: the same function with ``~sm.ns(Pseudotime, df = 3) * Branch`` against ``~sm.ns(Pseudotime, df = 3)`` on
  the cells of two lineages. BEAM itself reads a tree that Monocle has learned, and stops in today's R. Cells before the
  fork are dealt out in turn to both lineages (BEAM's default), or stand in both (``progenitor_method="duplicate"``).
  Branches are not stretched to one length, so that the hypothesis is the same for all programs. Where Monocle's fit of
  dispersions over means fails, the median of the dispersions stands for all genes, as its message advises.

All get the true size factors and the true pseudotime. Monocle compares two lineages only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import io, sparse

HERE = Path(__file__).resolve()
TRADESEQ, MONOCLE = "tradeSeq", "Monocle 2"
ASSOCIATION, BRANCH = "association", "branch"
EIGEN, DUPLICATED = "association, eigen", "branch, trunk twice"


class Failed(Exception):
    """Why a program gave no answer."""


@dataclass(frozen=True)
class Answers:
    """p-values by gene and test (NaN: none was given), and what they took.

    Parameters
    ----------
    table
        Index: genes; columns: tests.
    seconds, cpu_seconds
        Of each test, "fit" (what several tests share) among them; reading the data is not in it.
    version
        Of the program.
    """

    table: pd.DataFrame
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]
    version: str


@dataclass(frozen=True)
class Input:
    """What all programs are given.

    Parameters
    ----------
    counts
        (cells, genes), sparse.
    genes
        Their names.
    pseudotime, size_factor
        (cells,).
    on
        Whether a cell lies on each lineage, (cells, lineages).
    pair
        The two lineages that Monocle compares; None: where there are two, those.
    """

    counts: sparse.csr_matrix
    genes: list[str]
    pseudotime: np.ndarray
    size_factor: np.ndarray
    on: np.ndarray
    pair: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """The same for the same input alone."""
        state = hashlib.sha256(json.dumps(self.genes).encode())
        for part in (self.counts.data, self.counts.indices, self.counts.indptr, self.pseudotime, self.size_factor):
            state.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        state.update(np.ascontiguousarray(self.on, dtype=np.uint8).tobytes())
        if self.pair is not None:
            state.update(bytes(self.pair))
        return state.hexdigest()[:16]

    def write(self, folder: Path) -> None:
        """As files that R and Python read: counts (genes, cells), and a table of the cells."""
        io.mmwrite(folder / "counts.mtx", self.counts.T.tocoo().astype(np.int64))
        table = pd.DataFrame(self.on.astype(int), columns=[f"on{i}" for i in range(self.on.shape[1])])
        table.insert(0, "pseudotime", self.pseudotime)
        table.insert(1, "size_factor", self.size_factor)
        pair = (0, 1) if self.pair is None and self.on.shape[1] == 2 else self.pair
        for i, lineage in enumerate(pair or ()):
            table[f"arm{i}"] = self.on[:, lineage].astype(int)
        table.to_csv(folder / "cells.csv", index=False)
        pd.Series(self.genes, name="gene").to_csv(folder / "genes.csv", index=False)


def asked(program: str, given: Input, *, command: str | None, cache: Path | None = None, nice: int = 0) -> Answers:
    """What a program answers, from the cache if it was asked before.

    Parameters
    ----------
    program
        `TRADESEQ` or `MONOCLE`.
    command
        The interpreter that runs it.
    cache
        A folder; None: nothing is kept.
    nice
        Added to the niceness of its process.

    Raises
    ------
    Failed
        If it is not here or does not end well.
    """
    kept = None if cache is None else Path(cache) / f"{program.replace(' ', '').lower()}-{given.digest}"
    if kept is not None and kept.with_suffix(".json").exists():
        return _read(kept)
    if command is None:
        raise Failed(f"{program} is not here")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given.write(folder)
        if program == TRADESEQ:
            line = [command, HERE, "--worker", folder]
        else:
            (folder / "monocle.R").write_text(R_CODE)
            line = [command, "--vanilla", folder / "monocle.R", folder]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | threads
        lower = (lambda: os.nice(nice)) if nice else None
        try:
            done = subprocess.run(
                [str(part) for part in line], env=environment, preexec_fn=lower, capture_output=True, text=True
            )
        except OSError as error:
            raise Failed(f"{program}: {error}") from None
        if done.returncode:
            raise Failed(f"{program}: " + " | ".join(done.stderr.strip().splitlines()[-3:]))
        answers = _read(folder / "answers")
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            for suffix in (".csv", ".json"):
                kept.with_suffix(suffix).write_bytes((folder / "answers").with_suffix(suffix).read_bytes())
    return answers


def _read(at: Path) -> Answers:
    table = pd.read_csv(at.with_suffix(".csv"), index_col=0).astype(float)
    table.index = table.index.astype(str)
    return Answers(table, **json.loads(at.with_suffix(".json").read_text()))


# ---- what runs in the program's own process --------------------------------------------------------------------------


def tradeseq(folder: Path) -> None:
    """Fit and test with tradeseq-python; writes answers.csv and answers.json."""
    from importlib.metadata import version

    import anndata as ad
    import tradeseq as ts

    counts = sparse.csr_matrix(io.mmread(folder / "counts.mtx").T)
    cells = pd.read_csv(folder / "cells.csv")
    genes = pd.read_csv(folder / "genes.csv")["gene"].astype(str)
    on = cells.filter(regex=r"^on\d+$").to_numpy(dtype=float)
    adata = ad.AnnData(sparse.csr_matrix(counts.shape), var=pd.DataFrame(index=pd.Index(genes)))
    adata.layers["counts"] = counts.astype(float)
    adata.obsm["pseudotime"] = np.repeat(100 * cells["pseudotime"].to_numpy()[:, None], on.shape[1], axis=1)
    adata.obsm["cell_weights"] = on
    offset = np.log(cells["size_factor"].to_numpy())
    # it deals the cells before the fork out to the lineages by chance: here with a seed
    dealt = np.random.default_rng(0).multinomial(1, on / on.sum(axis=1, keepdims=True))
    calls = {
        "fit": lambda: ts.fit_gam(adata, offset=offset, verbose=False, _w_samp=dealt),
        ASSOCIATION: lambda: ts.association_test(adata)["pvalue"],
        EIGEN: lambda: ts.association_test(adata, inverse="eigen")["pvalue"],
    }
    if on.shape[1] > 1:
        calls[BRANCH] = lambda: ts.pattern_test(adata)["pvalue"]
    table, seconds, cpu_seconds = pd.DataFrame(index=pd.Index(genes, name="gene")), {}, {}
    for name, call in calls.items():
        began, cpu = time.perf_counter(), time.process_time()
        found = call()
        seconds[name], cpu_seconds[name] = time.perf_counter() - began, time.process_time() - cpu
        if name != "fit":
            table[name] = np.asarray(found, dtype=float)
    table.to_csv(folder / "answers.csv")
    said = dict(seconds=seconds, cpu_seconds=cpu_seconds, version=f"tradeseq-python {version('tradeseq-python')}")
    (folder / "answers.json").write_text(json.dumps(said))


R_CODE = """
suppressPackageStartupMessages({library(monocle); library(Matrix)})
folder <- commandArgs(trailingOnly = TRUE)[1]
counts <- as(as(readMM(file.path(folder, "counts.mtx")), "CsparseMatrix"), "dgCMatrix")
cells <- read.csv(file.path(folder, "cells.csv"))
genes <- as.character(read.csv(file.path(folder, "genes.csv"))$gene)
on <- as.matrix(cells[, grep("^arm[0-9]+$", names(cells)), drop = FALSE]) > 0
rownames(counts) <- genes
colnames(counts) <- paste0("cell", seq_len(ncol(counts)))

data_set <- function(columns, branch) {
  Y <- counts[, columns, drop = FALSE]
  colnames(Y) <- make.unique(colnames(Y))
  about <- data.frame(Pseudotime = 100 * cells$pseudotime[columns] / max(cells$pseudotime), Branch = factor(branch),
                      row.names = colnames(Y))
  names <- data.frame(gene_short_name = genes, row.names = genes)
  set <- newCellDataSet(Y, phenoData = new("AnnotatedDataFrame", data = about),
                        featureData = new("AnnotatedDataFrame", data = names),
                        expressionFamily = negbinomial.size(), lowerDetectionLimit = 0.5)
  pData(set)$Size_Factor <- cells$size_factor[columns]
  set
}
p_values <- function(result) {
  result <- result[genes, ]
  ifelse(result$status == "OK", result$pval, NA)
}
seconds <- list(); cpu <- list()
timed <- function(name, call) {
  before <- proc.time()
  result <- suppressWarnings(suppressMessages(call()))
  spent <- proc.time() - before
  seconds[[name]] <<- spent[["elapsed"]]
  cpu[[name]] <<- sum(spent[1:2])
  result
}

all_cells <- data_set(seq_len(ncol(counts)), rep("one", ncol(counts)))
pooled <- function(error) {
  # "Parametric dispersion fit failed. Try a local fit and/or a pooled estimation.": here the median
  moments <- monocle:::disp_calc_helper_NB(all_cells, all_cells@expressionFamily, 1)
  middle <- median(moments$disp[moments$disp > 0])
  all_cells@dispFitInfo[["blind"]] <- list(disp_table = moments, disp_func = function(q) rep(middle, length(q)))
  all_cells
}
whole <- timed("fit", function() tryCatch(estimateDispersions(all_cells), error = pooled))
answers <- data.frame(row.names = genes)
answers[["ASSOCIATION"]] <- p_values(timed("ASSOCIATION", function() differentialGeneTest(whole)))
if (ncol(on) == 2) {
  compare <- function(columns, branch) {
    set <- data_set(columns, branch)
    set@dispFitInfo <- whole@dispFitInfo
    p_values(differentialGeneTest(set, fullModelFormulaStr = "~sm.ns(Pseudotime, df = 3)*Branch",
                                  reducedModelFormulaStr = "~sm.ns(Pseudotime, df = 3)"))
  }
  both <- which(on[, 1] & on[, 2])
  both <- both[order(cells$pseudotime[both])]
  arms <- list(which(on[, 1] & !on[, 2]), which(on[, 2] & !on[, 1]))
  # as buildBranchCellDataSet does: in turn by pseudotime, the first cell of all in both
  columns <- c(both, both[1], arms[[1]], arms[[2]])
  branch <- c(rep(c("one", "two"), length.out = length(both)), "two", rep(c("one", "two"), lengths(arms)))
  answers[["BRANCH"]] <- timed("BRANCH", function() compare(columns, branch))
  columns <- c(both, arms[[1]], both, arms[[2]])
  branch <- rep(c("one", "two"), length(both) + lengths(arms))
  answers[["DUPLICATED"]] <- timed("DUPLICATED", function() compare(columns, branch))
}
write.csv(answers, file.path(folder, "answers.csv"))
object <- function(values) {
  paste0("{", paste(sprintf('"%s": %.6f', names(values), unlist(values)), collapse = ", "), "}")
}
version <- sprintf("monocle %s, VGAM %s, %s", packageVersion("monocle"), packageVersion("VGAM"), R.version.string)
writeLines(sprintf('{"seconds": %s, "cpu_seconds": %s, "version": "%s"}', object(seconds), object(cpu), version),
           file.path(folder, "answers.json"))
"""
R_CODE = R_CODE.replace("ASSOCIATION", ASSOCIATION).replace("BRANCH", BRANCH).replace("DUPLICATED", DUPLICATED)


# ---- the run ---------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the programs are; the same for all scripts that ask them."""
    parser.add_argument("--peer-python", metavar="PATH", help="interpreter that has tradeseq-python")
    parser.add_argument("--rscript", metavar="PATH", help="Rscript with Monocle 2")
    parser.add_argument("--cache", type=Path, default=HERE.parent / "results" / "gene_peers", help="folder of answers")
    parser.add_argument("--nice", type=int, default=0, help="added to the niceness of the programs")


def input_of(adata, pair: tuple[int, int] | None = None) -> Input:
    """What the programs are given of simulated cells."""
    from gene_simulation import lineages

    columns = [adata.obs[name].to_numpy(dtype=float) for name in ("true_pseudotime", "size_factor")]
    return Input(adata.layers["counts"], list(adata.var_names), *columns, lineages(adata)[1], pair)


def main() -> None:
    """Ask all programs about a few genes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--flat", type=int, default=20)
    parser.add_argument("--each", type=int, default=2)
    given = parser.parse_args()
    from gene_simulation import simulate

    adata = simulate("fork", given.cells, n_flat=given.flat, n_each=given.each)
    print(f"{adata.n_obs} cells, {adata.n_vars} genes")
    for program, command in ((TRADESEQ, given.peer_python), (MONOCLE, given.rscript)):
        try:
            answers = asked(program, input_of(adata), command=command, cache=given.cache, nice=given.nice)
        except Failed as why:
            print(why)
            continue
        print(f"\n{answers.version}")
        for test, column in answers.table.items():
            seconds, cpu = answers.seconds[test], answers.cpu_seconds[test]
            print(f"{test}: {seconds:.2f} s, {cpu:.2f} CPU-s, {column.isna().sum()} without p-value", end="; ")
            print(f"flat genes below .05: {(column[adata.var['pattern'] == 'flat'] < 0.05).mean():.2f}")
        print(f"fit: {answers.seconds['fit']:.2f} s, {answers.cpu_seconds['fit']:.2f} CPU-s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        tradeseq(Path(sys.argv[2]))
    else:
        main()
