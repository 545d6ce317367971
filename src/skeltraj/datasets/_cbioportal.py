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

from ._cohort import assemble, pick_genes
from ._tables import need_columns, need_unique, read_commented, read_gene_rows, some

_PATIENTS = "data_clinical_patient.txt"
_SAMPLES = "data_clinical_sample.txt"
_LABEL_COLUMN = "CLAUDIN_SUBTYPE"
# Names of the expression table over the releases of the study, best first: log intensities before z-scores.
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


def is_study(place: Path) -> bool:
    """Tell whether this is a folder or a tar archive."""
    try:
        return place.is_dir() or tarfile.is_tarfile(place)
    except (EOFError, zlib.error):
        # a broken gzip file; reading it as a table tells what is wrong
        return False


def load_study(place: Path, genes: list[str] | None, table: str | None) -> AnnData:
    """Load the expression table of this name, or the best there is, and the clinical tables."""
    with _study_files(place) as files:
        clinical = _read_clinical(files, str(place))
        table = _choose_expression(files, table, str(place))
        name = f"{place}: {table}"
        rows = read_gene_rows(files[table](), name, "Hugo_Symbol", genes)
    expression = rows.drop(columns="Entrez_Gene_Id", errors="ignore").T.dropna(axis="columns", how="all")
    expression = pick_genes(expression, genes, name)
    if not expression.index.isin(clinical.index).any():
        msg = (
            f"{place}: none of the samples of {table} ({some(expression.index)}) "
            f"is in {_SAMPLES} ({some(clinical.index)})"
        )
        raise ValueError(msg)
    adata = assemble(
        expression.fillna(expression.median()),
        clinical.reindex(expression.index),
        _LABEL_COLUMN,
        source=f"METABRIC, cBioPortal study brca_metabric, {table}",
        name=str(place),
    )
    adata.var["n_missing"] = expression.isna().sum().to_numpy()
    return adata


@contextmanager
def _study_files(place: Path) -> Iterator[_Files]:
    """Open a folder (read one level deep) or a tar archive (never unpacked)."""
    if place.is_dir():
        paths = [*sorted(place.glob("*")), *sorted(place.glob("*/*"))]
        yield _by_name((path.name, partial(path.open, "rb")) for path in paths if path.is_file())
        return
    try:
        with tarfile.open(place) as archive:
            members = [member for member in archive if member.isfile()]
            yield _by_name((Path(member.name).name, partial(archive.extractfile, member)) for member in members)
    except (EOFError, tarfile.TarError, zlib.error) as error:
        msg = f"{place} is not a whole archive: {error}"
        raise ValueError(msg) from error


def _by_name(found: Iterable[tuple[str, Callable[[], Any]]]) -> _Files:
    """Return the text files, sorted; of files with one name the first counts."""
    files: _Files = {}
    for name, opener in found:
        files.setdefault(name.removesuffix(".gz"), opener)
    return {name: files[name] for name in sorted(files) if name.endswith(".txt")}


def _read_clinical(files: _Files, name: str) -> pd.DataFrame:
    missing = {_PATIENTS, _SAMPLES}.difference(files)
    if missing:
        msg = f"{name} has no {' and no '.join(sorted(missing))}; it has {some(files)}"
        raise ValueError(msg)
    patients = _read_one_clinical(files, name, _PATIENTS, ["PATIENT_ID", _LABEL_COLUMN])
    samples = _read_one_clinical(files, name, _SAMPLES, ["SAMPLE_ID", "PATIENT_ID"])
    merged = samples.merge(patients, on="PATIENT_ID", how="left", suffixes=("", "_PATIENT"))
    return merged.set_index("SAMPLE_ID", drop=False)


def _read_one_clinical(files: _Files, name: str, file: str, columns: list[str]) -> pd.DataFrame:
    """Read a table that must have these columns; the first of them identifies the row."""
    frame = read_commented(files[file](), f"{name}: {file}")
    need_columns(frame, columns, f"{name}: {file}")
    need_unique(frame[columns[0]], f"{name}: {file}")
    return frame


def _choose_expression(files: _Files, table: str | None, name: str) -> str:
    wanted = _EXPRESSION if table is None else (table,)
    for candidate in wanted:
        if candidate in files:
            return candidate
    msg = f"{name} has no expression table {' or '.join(wanted)}; it has {some(files)}"
    raise ValueError(msg)
