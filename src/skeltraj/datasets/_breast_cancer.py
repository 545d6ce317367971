"""The two breast-cancer cohorts, METABRIC and TCGA-BRCA."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj.datasets._download import default_cache_dir, fetch

# Where the loaders download from. The first and the last address are pinned to a commit.
METABRIC_URL = (
    "https://raw.githubusercontent.com/yakdudi12/Breast-Cancer-Gene-Expression-Analysis-METABRIC-/"
    "f3c6753926d455c34ac13146610f286ba967d2a6/breast_cancer_dataset.zip"
)
METABRIC_MEMBER = "METABRIC_RNA_Mutation.csv"
METABRIC_MEMBER_SHA256 = "d4802594827667a71a75b5ae5c3cad1eb4346222052fcc792361c64abc7e43bc"
XENA_URL = "https://gdc-hub.s3.us-east-1.amazonaws.com/download/"
TCGA_EXPRESSION_FILE = "TCGA-BRCA.star_fpkm.tsv.gz"
TCGA_PROBEMAP_FILE = "gencode.v36.annotation.gtf.gene.probemap"
TCGA_CLINICAL_URL = (
    "https://raw.githubusercontent.com/JigyasaS21/TCGA-BRCA-Transcriptomics-Expression-Analysis/"
    "0012c88aa81e24f1a54fb2b9d6091ae65e3c4525/Data/"
)
TCGA_CLINICAL_FILE = "brca_tcga_pan_can_atlas_2018_clinical_data.tsv"

# The one vocabulary of both cohorts, in the order of the categories, with the Okabe-Ito colour of each.
SUBTYPE_COLORS = {
    "normal tissue": "#000000",
    "normal-like": "#009E73",
    "luminal A": "#56B4E9",
    "luminal B": "#0072B2",
    "HER2": "#CC79A7",
    "basal": "#D55E00",
    "claudin-low": "#E69F00",
}
_SUBTYPE_OF_LABEL = {
    "Normal": "normal-like",
    "LumA": "luminal A",
    "LumB": "luminal B",
    "Her2": "HER2",
    "Basal": "basal",
    "claudin-low": "claudin-low",
}
_NOT_CLASSIFIED = "NC"

_METABRIC_LABEL = "pam50_+_claudin-low_subtype"
_METABRIC_CLINICAL = (
    "patient_id",
    "age_at_diagnosis",
    "type_of_breast_surgery",
    "cancer_type",
    "cancer_type_detailed",
    "cellularity",
    "chemotherapy",
    _METABRIC_LABEL,
    "cohort",
    "er_status_measured_by_ihc",
    "er_status",
    "neoplasm_histologic_grade",
    "her2_status_measured_by_snp6",
    "her2_status",
    "tumor_other_histologic_subtype",
    "hormone_therapy",
    "inferred_menopausal_state",
    "integrative_cluster",
    "primary_tumor_laterality",
    "lymph_nodes_examined_positive",
    "mutation_count",
    "nottingham_prognostic_index",
    "oncotree_code",
    "overall_survival_months",
    "overall_survival",
    "pr_status",
    "radio_therapy",
    "3-gene_classifier_subtype",
    "tumor_size",
    "tumor_stage",
    "death_from_cancer",
)
_MUTATION_SUFFIX = "_mut"
_METABRIC_SOURCE = "METABRIC_RNA_Mutation table, made from cBioPortal study brca_metabric; expression as z-scores"

_STUDY_PATIENTS = "data_clinical_patient.txt"
_STUDY_SAMPLES = "data_clinical_sample.txt"
_STUDY_LABEL = "CLAUDIN_SUBTYPE"
# Names of the expression table over the releases of the study, best first: log intensities before z-scores.
_STUDY_EXPRESSION = (
    "data_mrna_illumina_microarray.txt",
    "data_mrna_agilent_microarray.txt",
    "data_expression_median.txt",
    "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt",
    "data_mrna_agilent_microarray_zscores_ref_diploid_samples.txt",
    "data_mrna_agilent_microarray_zscores_ref_all_samples.txt",
    "data_mRNA_median_Zscores.txt",
    "data_mRNA_median_all_sample_Zscores.txt",
)

_PAM50_GENES = tuple(
    "ACTR3B ANLN BAG1 BCL2 BIRC5 BLVRA CCNB1 CCNE1 CDC20 CDC6 CDH3 CENPF CEP55 CXXC5 EGFR ERBB2 ESR1 EXO1 FGFR4 FOXA1 "
    "FOXC1 GPR160 GRB7 KIF2C KRT14 KRT17 KRT5 MAPT MDM2 MELK MIA MKI67 MLPH MMP11 MYBL2 MYC NAT1 NDC80 NUF2 ORC6 PGR "
    "PHGDH PTTG1 RRM2 SFRP1 SLC39A6 TMEM45B TYMS UBE2C UBE2T".split()
)
_TCGA_OBS = ("sample", "patient", "sample_type", "pam50")
# the two digits after the patient in a TCGA sample id, e.g. TCGA-3C-AAAU-01A
_TCGA_SAMPLE_TYPES = {"01": "Primary Tumor", "11": "Solid Tissue Normal"}
_TCGA_SOURCE = (
    "TCGA-BRCA, log2(FPKM + 1) of the PAM50 genes, UCSC Xena GDC hub; "
    "PAM50 calls: cBioPortal study brca_tcga_pan_can_atlas_2018"
)

# codes that may look like numbers
_ALWAYS_TEXT = ("patient_id", "integrative_cluster", "PATIENT_ID", "SAMPLE_ID", "INTCLUST", "sample", "patient")
_LFS_POINTER = b"version https://git-lfs"


def metabric(
    path: str | Path | None = None,
    *,
    genes: Sequence[str] | None = None,
    table: str | None = None,
    cache_dir: str | Path | None = None,
    progress: bool = True,
) -> AnnData:
    """
    Load METABRIC, a cohort of primary breast tumours (Curtis et al. 2012, Pereira et al. 2016).

    There are two forms of the data. Without a `path`, the table METABRIC_RNA_Mutation is downloaded: 1904 tumours,
    z-scores of 489 genes from cancer pathways. The study files of cBioPortal hold all measured genes of about 1900 to
    2000 tumours (depending on the release); fetch the archive of study brca_metabric there and give it as `path`.

    Parameters
    ----------
    path
        One of: the table METABRIC_RNA_Mutation as .csv, .csv.gz, or .zip around it; the archive brca_metabric.tar.gz of
        cBioPortal; the folder it unpacks to. With None the table is downloaded (a few MB).
    genes
        Keep only these genes, in this order; case does not matter. Saves time and memory with the study files.
    table
        File name of the expression table in the study files, e.g.
        "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt". With None the log intensities are taken
        ("data_mrna_illumina_microarray.txt", or under its name in older releases), and z-scores where there are none.
    cache_dir
        Folder for the download. With None a folder of the operating system for such files.
    progress
        Show a progress bar while downloading.

    Returns
    -------
    Annotated data, tumours x genes, named by METABRIC id ("MB-0000") and gene symbol (in the table the symbols are
    lower case, here they are upper case).

    - `.X`: expression, float64.
    - `.obs["subtype"]`: categorical with the categories, in this order and as far as they occur, "normal-like",
      "luminal A", "luminal B", "HER2", "basal", "claudin-low". Missing for tumours without a class ("NC", not
      classified). :func:`tcga_brca` uses the same words. METABRIC has no normal tissue; "normal-like" is a class of
      tumours.
    - `.obs`: the clinical columns under their own names ("/" in a name becomes "_"); text as categorical, numbers as
      float. Values are as in the source, its spelling errors included.
    - `.obsm["mutations"]`: data frame tumours x 173 genes, True where at least one change of the protein was found.
      Only from the table.
    - `.var["n_missing"]`: number of missing values that were replaced by the median of the gene. Only from the study
      files. A gene without any value is left out, and so are rows without a gene symbol. Where a symbol occurs more
      than once the first row counts, as in the import of cBioPortal.
    - `.uns["subtype_colors"]`: one colour per category, from the Okabe-Ito palette that is safe for colour-blind
      readers; a subtype has the same colour in both cohorts.
    - `.uns["source"]`: where the values come from.

    Raises
    ------
    ValueError
        When a file is not as described, or a gene of `genes` is not in it.
    OSError
        When a file does not exist or cannot be downloaded.
    ImportError
        When a download is needed and the extra `skeltraj[download]` is not installed.

    Notes
    -----
    The download comes from a GitHub repository, pinned to a commit. The size of the archive is checked against the
    one the server announces, and the SHA-256 of the table in it against the known one.
    """
    wanted = _gene_list(genes)
    if path is None:
        _refuse_table(table)
        return _metabric_from_table(_download_metabric(_cache(cache_dir, "metabric"), progress), METABRIC_URL, wanted)
    place = _existing(path)
    if place.is_dir() or _is_tar(place):
        return _metabric_from_study(place, wanted, table)
    _refuse_table(table)
    return _metabric_from_table(_read_table(place), str(place), wanted)


def tcga_brca(path: str | Path | None = None, *, cache_dir: str | Path | None = None, progress: bool = True) -> AnnData:
    """
    Load the PAM50 genes of TCGA-BRCA: breast tumours and normal breast tissue (TCGA Network 2012, Parker et al. 2009).

    1106 samples of primary tumours (of 1095 patients) and 113 of the normal tissue next to a tumour; RNA-seq of the 50
    genes of the PAM50 classifier.

    Parameters
    ----------
    path
        One of: a table (.csv, .csv.gz, or .zip around it) with one row per sample and the columns "sample",
        "patient", "sample_type" ("Primary Tumor" or "Solid Tissue Normal"), "pam50" (LumA, LumB, Her2, Basal, Normal
        or empty) and the 50 genes; a folder with the three files that would be downloaded (see Notes) under their own
        names. With None these files are downloaded (a large download, as the expression file holds all genes).
    cache_dir
        Folder for the download. With None a folder of the operating system for such files.
    progress
        Show a progress bar while downloading.

    Returns
    -------
    Annotated data, samples x 50 genes, named by sample id ("TCGA-3C-AAAU-01A") and gene symbol.

    - `.X`: log2(FPKM + 1), float64, rounded to 5 decimals.
    - `.obs["subtype"]`: categorical with the categories, in this order and as far as they occur, "normal tissue",
      "normal-like", "luminal A", "luminal B", "HER2", "basal". Missing for tumours without a call. "normal tissue" is
      no tumour, "normal-like" is a class of tumours. :func:`metabric` uses the same words.
    - `.obs`: further "sample", "patient", "sample_type" and "pam50" (the call as in the source), all categorical.
    - `.uns["subtype_colors"]`: one colour per category, from the Okabe-Ito palette that is safe for colour-blind
      readers; a subtype has the same colour in both cohorts.
    - `.uns["source"]`: where the values come from.

    Raises
    ------
    ValueError
        When a file is not as described.
    OSError
        When a file does not exist or cannot be downloaded.
    ImportError
        When a download is needed and the extra `skeltraj[download]` is not installed.

    Notes
    -----
    Three files are downloaded: TCGA-BRCA.star_fpkm.tsv.gz and gencode.v36.annotation.gtf.gene.probemap from the GDC
    hub of UCSC Xena, and brca_tcga_pan_can_atlas_2018_clinical_data.tsv (an export of cBioPortal, pinned to a commit
    of a GitHub repository) with the PAM50 calls, which are joined by patient. No checksums are known for them.
    Checked are the size, against the one the server announces, and the content: all 50 genes, samples of tumours and
    of normal tissue, and PAM50 calls for them. Where two Ensembl genes share a symbol, the one with the higher mean
    is taken.
    """
    if path is None:
        return _tcga_from_table(_download_tcga(_cache(cache_dir, "tcga_brca"), progress), XENA_URL)
    place = _existing(path)
    if place.is_dir():
        names = (TCGA_EXPRESSION_FILE, TCGA_PROBEMAP_FILE, TCGA_CLINICAL_FILE)
        return _tcga_from_table(_tcga_from_sources(*(_file_in(place, name) for name in names)), str(place))
    return _tcga_from_table(_read_table(place), str(place))


# --- METABRIC ---------------------------------------------------------------------------------------------------------


def _download_metabric(folder: Path, progress: bool) -> pd.DataFrame:
    archive = fetch(METABRIC_URL, folder, progress=progress)
    try:
        name, content = _zip_member(archive)
        digest = hashlib.sha256(content).hexdigest()
        if digest != METABRIC_MEMBER_SHA256:
            msg = f"{name} in {METABRIC_URL} has SHA-256 {digest}, wanted {METABRIC_MEMBER_SHA256}"
            raise ValueError(msg)
    except ValueError as error:
        raise _discard(error, archive) from error
    return _parse_table(io.BytesIO(content), name)


def _metabric_from_table(frame: pd.DataFrame, name: str, genes: list[str] | None) -> AnnData:
    _need_columns(frame, ("patient_id", _METABRIC_LABEL), name)
    _need_unique(frame["patient_id"], name)
    clinical = [column for column in frame.columns if column in _METABRIC_CLINICAL]
    mutations = [column for column in frame.columns if column.endswith(_MUTATION_SUFFIX)]
    others = [column for column in frame.columns if column not in {*clinical, *mutations}]
    # the table has bare numbers ("0"); the study, and every other publication, has "MB-0000"
    frame = frame.set_index(frame["patient_id"].map(lambda i: f"MB-{i:0>4}" if i.isdigit() else i))
    expression = _numeric(frame[others], name).rename(columns=str.upper)
    adata = _assemble(
        _pick_genes(expression, genes, name), frame[clinical], frame[_METABRIC_LABEL], _METABRIC_SOURCE, name
    )
    if mutations:
        called = ~frame[mutations].fillna("0").astype(str).isin(["0", "0.0"])
        called.columns = called.columns.str.removesuffix(_MUTATION_SUFFIX).str.upper()
        adata.obsm["mutations"] = called.set_axis(adata.obs_names)
    return adata


def _metabric_from_study(place: Path, genes: list[str] | None, table: str | None) -> AnnData:
    with _study_files(place) as files:
        clinical = _read_study_clinical(files, str(place))
        table = _choose_expression(files, table, str(place))
        expression = _read_gene_rows(files.open(table), f"{place}: {table}", "Hugo_Symbol", genes)
    expression = expression.drop(columns="Entrez_Gene_Id", errors="ignore").T
    expression, n_missing = _fill_missing(expression)
    expression = _pick_genes(expression, genes, f"{place}: {table}")
    known = expression.index.intersection(clinical.index)
    if known.empty:
        msg = (
            f"{place}: none of the samples of {table} ({_some(expression.index)}) "
            f"is in {_STUDY_SAMPLES} ({_some(clinical.index)})"
        )
        raise ValueError(msg)
    clinical = clinical.reindex(expression.index)
    source = f"METABRIC, cBioPortal study brca_metabric, {table}"
    adata = _assemble(expression, clinical, clinical[_STUDY_LABEL], source, str(place))
    adata.var["n_missing"] = n_missing[adata.var_names].to_numpy()
    return adata


class _StudyFiles:
    """The text files of a study by name, in a folder (one level deep) or in a tar archive that is never unpacked."""

    def __init__(self, place: Path, archive: tarfile.TarFile | None) -> None:
        self._archive = archive
        self._files: dict[str, Path | tarfile.TarInfo] = {}
        if archive is None:
            for path in [*sorted(place.glob("*")), *sorted(place.glob("*/*"))]:
                if path.is_file():
                    self._files.setdefault(path.name.removesuffix(".gz"), path)
        else:
            for member in archive.getmembers():
                if member.isfile():
                    self._files.setdefault(Path(member.name).name.removesuffix(".gz"), member)

    def names(self) -> list[str]:
        return sorted(name for name in self._files if name.endswith(".txt"))

    def open(self, name: str) -> IO[bytes]:
        file = self._files[name]
        if isinstance(file, Path):
            return file.open("rb")
        assert self._archive is not None
        return cast("IO[bytes]", self._archive.extractfile(file))


@contextmanager
def _study_files(place: Path) -> Iterator[_StudyFiles]:
    if place.is_dir():
        yield _StudyFiles(place, None)
        return
    try:
        with tarfile.open(place) as archive:
            yield _StudyFiles(place, archive)
    except (EOFError, tarfile.TarError, zlib.error) as error:
        msg = f"{place} is not a whole archive: {error}"
        raise ValueError(msg) from error


def _read_study_clinical(files: _StudyFiles, name: str) -> pd.DataFrame:
    missing = {_STUDY_PATIENTS, _STUDY_SAMPLES}.difference(files.names())
    if missing:
        msg = f"{name} has no {' and no '.join(sorted(missing))}; it has {_some(files.names())}"
        raise ValueError(msg)
    patients = _read_commented(files.open(_STUDY_PATIENTS), f"{name}: {_STUDY_PATIENTS}")
    samples = _read_commented(files.open(_STUDY_SAMPLES), f"{name}: {_STUDY_SAMPLES}")
    _need_columns(patients, ("PATIENT_ID", _STUDY_LABEL), f"{name}: {_STUDY_PATIENTS}")
    _need_columns(samples, ("PATIENT_ID", "SAMPLE_ID"), f"{name}: {_STUDY_SAMPLES}")
    _need_unique(patients["PATIENT_ID"], f"{name}: {_STUDY_PATIENTS}")
    _need_unique(samples["SAMPLE_ID"], f"{name}: {_STUDY_SAMPLES}")
    merged = samples.merge(patients, on="PATIENT_ID", how="left", suffixes=("", "_PATIENT"))
    return merged.set_index("SAMPLE_ID", drop=False)


def _choose_expression(files: _StudyFiles, table: str | None, name: str) -> str:
    wanted = _STUDY_EXPRESSION if table is None else (table,)
    for candidate in wanted:
        if candidate in files.names():
            return candidate
    msg = f"{name} has no expression table {' or '.join(wanted)}; it has {_some(files.names())}"
    raise ValueError(msg)


def _fill_missing(expression: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    expression = expression.dropna(axis="columns", how="all")
    return expression.fillna(expression.median()), expression.isna().sum()


# --- TCGA -------------------------------------------------------------------------------------------------------------


def _download_tcga(folder: Path, progress: bool) -> pd.DataFrame:
    # the small files first: they fail soon
    clinical = fetch(TCGA_CLINICAL_URL + TCGA_CLINICAL_FILE, folder, progress=progress)
    probemap = fetch(XENA_URL + TCGA_PROBEMAP_FILE, folder, progress=progress)
    expression = fetch(XENA_URL + TCGA_EXPRESSION_FILE, folder, progress=progress)
    try:
        return _tcga_from_sources(expression, probemap, clinical)
    except ValueError as error:
        raise _discard(error, expression, probemap, clinical) from error


def _tcga_from_sources(expression_file: Path, probemap_file: Path, clinical_file: Path) -> pd.DataFrame:
    symbols = _read_probemap(probemap_file)
    expression = _read_gene_rows(expression_file.open("rb"), str(expression_file), None, symbols.index.tolist())
    expression = _one_row_per_symbol(expression, symbols, str(expression_file))
    sample_type = expression.index.str[13:15].map(_TCGA_SAMPLE_TYPES)
    for code, kind in _TCGA_SAMPLE_TYPES.items():
        if kind not in sample_type:
            wanted = f"{kind} (ids like TCGA-3C-AAAU-{code}A)"
            msg = f"{expression_file} has no samples of {wanted}; it has {_some(expression.index)}"
            raise ValueError(msg)
    obs = pd.DataFrame({"sample": expression.index, "patient": expression.index.str[:12], "sample_type": sample_type})
    calls = _read_pam50_calls(clinical_file)
    is_tumour = obs["sample_type"] == _TCGA_SAMPLE_TYPES["01"]
    obs["pam50"] = obs["patient"].map(calls).where(is_tumour)
    if obs["pam50"].isna().all():
        msg = f"no patient of {clinical_file} ({_some(calls.index)}) is in {expression_file} ({_some(obs['patient'])})"
        raise ValueError(msg)
    frame = pd.concat([obs, expression.reset_index(drop=True)], axis="columns")
    # metastases (code 06) fall out here: they have no sample type
    return frame.dropna(subset="sample_type").sort_values("sample", ignore_index=True)


def _read_probemap(file: Path) -> pd.Series:
    """Return the symbols of the PAM50 genes by Ensembl id."""
    probemap = _parse_table(file.open("rb"), str(file), sep="\t")
    _need_columns(probemap, ("id", "gene"), str(file))
    symbols = probemap.set_index("id")["gene"]
    symbols = symbols[symbols.isin(_PAM50_GENES)]
    _need_genes(symbols, str(file))
    return symbols


def _one_row_per_symbol(rows: pd.DataFrame, symbols: pd.Series, name: str) -> pd.DataFrame:
    """Return samples x PAM50 genes."""
    by_mean = rows.loc[rows.mean(axis="columns").sort_values(ascending=False).index]
    by_mean.index = by_mean.index.map(symbols.to_dict())
    best = by_mean[~by_mean.index.duplicated()]
    _need_genes(best.index, name)
    return best.loc[list(_PAM50_GENES)].T


def _read_pam50_calls(file: Path) -> pd.Series:
    clinical = _parse_table(file.open("rb"), str(file), sep="\t")
    _need_columns(clinical, ("Patient ID", "Subtype"), str(file))
    calls = clinical.dropna(subset="Subtype").drop_duplicates("Patient ID").set_index("Patient ID")["Subtype"]
    return calls.str.removeprefix("BRCA_")


def _tcga_from_table(frame: pd.DataFrame, name: str) -> AnnData:
    _need_columns(frame, (*_TCGA_OBS, *_PAM50_GENES), name)
    kinds = set(_TCGA_SAMPLE_TYPES.values())
    unknown = set(frame["sample_type"]) - kinds
    if unknown:
        msg = f"{name}: sample_type {_some(unknown)} is not known; known are {_some(kinds)}"
        raise ValueError(msg)
    frame = frame.set_index("sample", drop=False)
    is_tissue = frame["sample_type"] == _TCGA_SAMPLE_TYPES["11"]
    obs = frame[list(_TCGA_OBS)]
    # five decimals are what tables of these values carry: the same result from each source
    expression = _numeric(frame[list(_PAM50_GENES)], name).round(5)
    return _assemble(expression, obs, frame["pam50"], _TCGA_SOURCE, name, normal_tissue=is_tissue)


def _need_genes(found: Collection[str] | pd.Series | pd.Index, name: str) -> None:
    missing = set(_PAM50_GENES).difference(found)
    if missing:
        msg = f"{name} lacks {len(missing)} of the 50 PAM50 genes: {_some(missing)}"
        raise ValueError(msg)


# --- both -------------------------------------------------------------------------------------------------------------


def _assemble(
    expression: pd.DataFrame,
    clinical: pd.DataFrame,
    labels: pd.Series,
    source: str,
    name: str,
    *,
    normal_tissue: pd.Series | None = None,
) -> AnnData:
    _need_unique(pd.Series(expression.index), name)
    _need_unique(pd.Series(expression.columns), name)
    subtype = _subtype(labels, name)
    if normal_tissue is not None:
        subtype = subtype.mask(normal_tissue, "normal tissue")
    present = [word for word in SUBTYPE_COLORS if word in set(subtype)]
    obs = pd.DataFrame({"subtype": pd.Categorical(subtype, categories=present)}, index=_names(expression.index))
    tidy = {column.replace("/", "_"): _tidy(clinical[column]).array for column in clinical.columns}
    obs = pd.concat([obs, pd.DataFrame(tidy, index=obs.index)], axis="columns")
    adata = AnnData(
        X=np.ascontiguousarray(expression, dtype=np.float64),
        obs=obs,
        var=pd.DataFrame(index=_names(expression.columns)),
    )
    adata.uns["subtype_colors"] = [SUBTYPE_COLORS[word] for word in present]
    adata.uns["source"] = source
    return adata


def _subtype(labels: pd.Series, name: str) -> pd.Series:
    given = labels.dropna()
    unknown = set(given) - {*_SUBTYPE_OF_LABEL, _NOT_CLASSIFIED}
    if unknown:
        known = [*_SUBTYPE_OF_LABEL, _NOT_CLASSIFIED]
        msg = f"{name}: subtype {_some(unknown)} in column {labels.name!r} is not known; known are {', '.join(known)}"
        raise ValueError(msg)
    return labels.map(_SUBTYPE_OF_LABEL).astype(object)


def _tidy(column: pd.Series) -> pd.Series:
    """Return numbers as float, everything else as categorical."""
    if column.name not in _ALWAYS_TEXT:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.astype(np.float64)
    return column.astype(object).astype("category")


def _numeric(expression: pd.DataFrame, name: str) -> pd.DataFrame:
    if expression.shape[1] == 0:
        msg = f"{name} has no column with the expression of a gene"
        raise ValueError(msg)
    bad = [column for column in expression.columns if pd.to_numeric(expression[column], errors="coerce").isna().any()]
    if bad:
        msg = f"{name}: expression must be numbers without gaps; column(s) with something else: {_some(bad)}"
        raise ValueError(msg)
    return expression.astype(np.float64)


def _gene_list(genes: Sequence[str] | None) -> list[str] | None:
    if genes is None:
        return None
    if isinstance(genes, str):
        msg = f"`genes` must be a list of gene symbols, got the string {genes!r}"
        raise TypeError(msg)
    wanted = list(genes)
    if not wanted:
        msg = "`genes` is empty; give at least one gene symbol, or None for all"
        raise ValueError(msg)
    return wanted


def _pick_genes(expression: pd.DataFrame, genes: list[str] | None, name: str) -> pd.DataFrame:
    if genes is None:
        return expression
    column_of = {str(column).upper(): column for column in reversed(expression.columns)}
    missing = [gene for gene in genes if gene.upper() not in column_of]
    if missing:
        msg = f"{name} has no values for the gene(s) {_some(missing)}; genes found there: {_some(expression.columns)}"
        raise ValueError(msg)
    return expression[list(dict.fromkeys(column_of[gene.upper()] for gene in genes))]


# --- files ------------------------------------------------------------------------------------------------------------


def _cache(cache_dir: str | Path | None, cohort: str) -> Path:
    return (default_cache_dir() if cache_dir is None else Path(cache_dir).expanduser()) / cohort


def _existing(path: str | Path) -> Path:
    place = Path(path).expanduser()
    if not place.exists():
        msg = f"`path` does not exist: {place}"
        raise FileNotFoundError(msg)
    return place


def _file_in(folder: Path, name: str) -> Path:
    for candidate in (name, name.removesuffix(".gz")):
        if (folder / candidate).is_file():
            return folder / candidate
    msg = f"{folder} has no file {name}; it has {_some(path.name for path in folder.iterdir())}"
    raise FileNotFoundError(msg)


def _discard(error: ValueError, *files: Path) -> ValueError:
    for file in files:
        file.unlink(missing_ok=True)
    names = ", ".join(file.name for file in files)
    return ValueError(
        f"{error}. Removed from the cache, so that the next call downloads again: {names}. "
        "If you have a good copy, give its location as `path`."
    )


def _is_tar(place: Path) -> bool:
    try:
        return tarfile.is_tarfile(place)
    except (EOFError, zlib.error):
        # a broken gzip file; reading it as a table tells what is wrong
        return False


def _read_table(place: Path) -> pd.DataFrame:
    if zipfile.is_zipfile(place):
        name, content = _zip_member(place)
        return _parse_table(io.BytesIO(content), f"{place}: {name}")
    return _parse_table(place.open("rb"), str(place))


def _zip_member(place: Path) -> tuple[str, bytes]:
    """Return name and content of the one table in a zip file."""
    try:
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
            tables = [n for n in names if n.endswith((".csv", ".csv.gz")) and not n.startswith("__MACOSX")]
            named = [n for n in tables if Path(n).name == METABRIC_MEMBER] or tables
            if len(named) != 1:
                msg = f"{place} must hold one .csv table, or one named {METABRIC_MEMBER}; it holds {_some(names)}"
                raise ValueError(msg)
            return named[0], archive.read(named[0])
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        msg = f"{place} is not a whole zip file: {error}"
        raise ValueError(msg) from error


@contextmanager
def _as_text(raw: IO[bytes], name: str) -> Iterator[TextIO]:
    """Decode a file that may be compressed with gzip, and say which file it was when that fails."""
    with raw:
        start = raw.read(len(_LFS_POINTER))
        raw.seek(0)
        if start == _LFS_POINTER:
            msg = f"{name} is a Git LFS pointer, not the file itself; fetch the file with `git lfs pull`"
            raise ValueError(msg)
        # told by the content: servers and browsers decompress without changing the name
        packed = start[:2] == b"\x1f\x8b"
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            with io.TextIOWrapper(binary, encoding="utf-8-sig") as text:
                yield text
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, pd.errors.ParserError) as error:
            msg = f"{name} cannot be read as a table: {error}"
            raise ValueError(msg) from error
        except pd.errors.EmptyDataError as error:
            msg = f"{name} is empty"
            raise ValueError(msg) from error


def _parse_table(raw: IO[bytes], name: str, *, sep: str = ",") -> pd.DataFrame:
    with _as_text(raw, name) as text:
        return pd.read_csv(text, sep=sep, dtype=dict.fromkeys(_ALWAYS_TEXT, str), low_memory=False)


def _read_commented(raw: IO[bytes], name: str) -> pd.DataFrame:
    """Read a clinical table of cBioPortal, below its comment lines."""
    with _as_text(raw, name) as text:
        header = _skip_comments(text)
        # not by `comment="#"`, which would cut values that hold this character
        return _parse_rows(text, header, dict.fromkeys(header, str), name)


def _read_gene_rows(raw: IO[bytes], name: str, first_column: str | None, keys: list[str] | None) -> pd.DataFrame:
    """Read a table genes x samples, or only its rows with one of the keys; of rows with equal keys the first counts."""
    with _as_text(raw, name) as text:
        header = _skip_comments(text)
        if (first_column is not None and header[0] != first_column) or len(header) < 2:
            msg = f"{name} must start with the column {first_column!r}, then samples; its columns are {_some(header)}"
            raise ValueError(msg)
        _need_unique(pd.Series(header), name)
        lines = text if keys is None else _select_lines(text, {key.upper() for key in keys})
        kinds: dict[str, type] = dict.fromkeys(header[1:], float)
        kinds |= {header[0]: str, "Entrez_Gene_Id": str}
        rows = _parse_rows(lines, header, kinds, name)
    rows = rows.dropna(subset=header[0]).drop_duplicates(header[0])
    return rows.set_index(header[0]).rename_axis(index=None, columns=None)


def _parse_rows(text: TextIO, header: list[str], kinds: dict[str, type], name: str) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            # rows longer than the header: pandas warns and drops values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(text, sep="\t", names=header, index_col=False, dtype=kinds)
    except (ValueError, pd.errors.ParserWarning) as error:
        msg = f"{name} cannot be read as a table: {error}"
        raise ValueError(msg) from error


def _select_lines(text: TextIO, keys: set[str]) -> TextIO:
    # one pass over lines is several times faster than parsing a thousand columns of every gene
    return io.StringIO("".join(line for line in text if line.partition("\t")[0].upper() in keys))


def _skip_comments(text: TextIO) -> list[str]:
    """Return the column names, leaving the file at the first row."""
    for line in text:
        if not line.startswith("#"):
            return line.rstrip("\r\n").split("\t")
    msg = "no line with column names"
    raise pd.errors.EmptyDataError(msg)


# --- checks -----------------------------------------------------------------------------------------------------------


def _refuse_table(table: str | None) -> None:
    if table is not None:
        msg = f"`table` chooses a file of the cBioPortal study, and `path` is not one; got table={table!r}"
        raise ValueError(msg)


def _need_columns(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        msg = f"{name} lacks the column(s) {_some(missing)}; it has {_some(frame.columns)}"
        raise ValueError(msg)


def _need_unique(values: pd.Series, name: str) -> None:
    if values.isna().any():
        msg = f"{name}: {int(values.isna().sum())} row(s) without a value for {values.name!r}"
        raise ValueError(msg)
    twice = values[values.duplicated()]
    if len(twice):
        msg = f"{name}: names must be unique; more than once: {_some(twice.unique())}"
        raise ValueError(msg)


def _names(index: pd.Index) -> pd.Index:
    # without a name: h5ad refuses one that is also the name of a column
    return index.astype(str).rename(None)


def _some(values: object, limit: int = 8) -> str:
    """Return the first few values for a message; a set in sorted order."""
    items = [str(value) for value in cast("Collection[object]", values)]
    if isinstance(values, set):
        items.sort()
    if not items:
        return "nothing"
    more = f", ... ({len(items)} in all)" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more
