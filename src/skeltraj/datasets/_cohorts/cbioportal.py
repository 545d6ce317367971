"""The METABRIC cohort from the files of its cBioPortal study."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import pandas as pd
from anndata import AnnData

from .annotate import annotated, pick_genes
from .tables import listed, need_columns, need_unique, read_commented, read_gene_rows

_PATIENTS = "data_clinical_patient.txt"
_SAMPLES = "data_clinical_sample.txt"
_LABEL_COLUMN = "CLAUDIN_SUBTYPE"
# names of the expression table over the releases of the study, best first: log intensities before z-scores
_EXPRESSION = (
    "data_mrna_illumina_microarray.txt",
    "data_mrna_agilent_microarray.txt",
    "data_expression_median.txt",
    "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt",
    "data_mrna_agilent_microarray_zscores_ref_diploid_samples.txt",
    "data_mrna_agilent_microarray_zscores_ref_all_samples.txt",
    "data_mRNA_median_Zscores.txt",
    "data_mRNA_median_all_sample_Zscores.txt",
)

# how to open each text file of a study
_Files = dict[str, Callable[[], IO[bytes]]]


def is_study(path: Path) -> bool:
    """Whether this is a folder or a tar archive."""
    try:
        return path.is_dir() or tarfile.is_tarfile(path)
    except (EOFError, zlib.error):  # a broken gzip file: reading it as a table tells what is wrong
        return False


def load_study(path: Path, genes: list[str] | None, table: str | None) -> AnnData:
    """The expression table of this name, or the best there is, with the clinical tables."""
    with _study_files(path) as files:
        clinical = _read_clinical(files, str(path))
        table = _choose_expression(files, table, str(path))
        name = f"{path}: {table}"
        rows = read_gene_rows(files[table](), name, "Hugo_Symbol", genes)
    expression = rows.drop(columns="Entrez_Gene_Id", errors="ignore").T.dropna(axis="columns", how="all")
    expression = pick_genes(expression, genes, name)
    if not expression.index.isin(clinical.index).any():
        raise ValueError(
            f"{name} has the samples {listed(expression.index)}, none of which is in {_SAMPLES}; wanted some of "
            f"{listed(clinical.index)}."
        )
    adata = annotated(
        expression.fillna(expression.median()),
        clinical.reindex(expression.index),
        _LABEL_COLUMN,
        source=f"METABRIC, cBioPortal study brca_metabric, {table}",
        name=str(path),
    )
    adata.var["n_missing"] = expression.isna().sum().to_numpy()
    return adata


@contextmanager
def _study_files(path: Path) -> Iterator[_Files]:
    """The text files of a folder (read one level deep) or of a tar archive (never unpacked)."""
    if path.is_dir():
        inside = [*sorted(path.glob("*")), *sorted(path.glob("*/*"))]
        yield _by_name((file.name, partial(file.open, "rb")) for file in inside if file.is_file())
        return
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive if member.isfile()]
            yield _by_name((Path(member.name).name, partial(archive.extractfile, member)) for member in members)
    except (EOFError, tarfile.TarError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as an archive: {error}; wanted a whole one.") from error


def _by_name(openers: Iterable[tuple[str, Callable[[], Any]]]) -> _Files:
    """The text files, sorted; of files with one name the first counts."""
    files: _Files = {}
    for name, opener in openers:
        files.setdefault(name.removesuffix(".gz"), opener)
    return {name: files[name] for name in sorted(files) if name.endswith(".txt")}


def _read_clinical(files: _Files, name: str) -> pd.DataFrame:
    missing = {_PATIENTS, _SAMPLES}.difference(files)
    if missing:
        raise ValueError(f"{name} has no {' and no '.join(sorted(missing))}. Available: {listed(files)}.")
    patients = _read_one_clinical(files, name, _PATIENTS, ["PATIENT_ID", _LABEL_COLUMN])
    samples = _read_one_clinical(files, name, _SAMPLES, ["SAMPLE_ID", "PATIENT_ID"])
    merged = samples.merge(patients, on="PATIENT_ID", how="left", suffixes=("", "_PATIENT"))
    return merged.set_index("SAMPLE_ID", drop=False)


def _read_one_clinical(files: _Files, name: str, file: str, columns: list[str]) -> pd.DataFrame:
    """A table that must have these columns; the first of them identifies the row."""
    frame = read_commented(files[file](), f"{name}: {file}")
    need_columns(frame, columns, f"{name}: {file}")
    need_unique(frame[columns[0]], f"{name}: {file}")
    return frame


def _choose_expression(files: _Files, table: str | None, name: str) -> str:
    if table is not None:
        if table not in files:
            raise ValueError(f"table={table!r} is not in {name}. Available: {listed(files)}.")
        return table
    for candidate in _EXPRESSION:
        if candidate in files:
            return candidate
    raise ValueError(
        f"{name} has no expression table; wanted one of {listed(_EXPRESSION)}. Available: {listed(files)}."
    )
