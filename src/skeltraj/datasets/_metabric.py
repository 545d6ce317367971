"""The METABRIC cohort, as the table METABRIC_RNA_Mutation or as the files of its cBioPortal study."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from anndata import AnnData

from skeltraj.core._runtime import check
from skeltraj.datasets._cohorts.annotate import annotated, numeric, pick_genes
from skeltraj.datasets._cohorts.cbioportal import is_study, load_study
from skeltraj.datasets._cohorts.files import cache_folder, existing, fetch, removed_if_bad
from skeltraj.datasets._cohorts.tables import need_columns, need_unique, parse_table, read_table, zip_member

# the address names a commit, so that the file stays the same
METABRIC_URL = (
    "https://raw.githubusercontent.com/yakdudi12/Breast-Cancer-Gene-Expression-Analysis-METABRIC-/"
    "f3c6753926d455c34ac13146610f286ba967d2a6/breast_cancer_dataset.zip"
)
METABRIC_MEMBER = "METABRIC_RNA_Mutation.csv"
METABRIC_MEMBER_SHA256 = "d4802594827667a71a75b5ae5c3cad1eb4346222052fcc792361c64abc7e43bc"

LABEL_COLUMN = "pam50_+_claudin-low_subtype"
CLINICAL_COLUMNS = (
    "patient_id",
    "age_at_diagnosis",
    "type_of_breast_surgery",
    "cancer_type",
    "cancer_type_detailed",
    "cellularity",
    "chemotherapy",
    LABEL_COLUMN,
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
_SOURCE = "METABRIC_RNA_Mutation table, made from cBioPortal study brca_metabric; expression as z-scores"


def metabric(
    path: str | Path | None = None,
    *,
    genes: Sequence[str] | None = None,
    table: str | None = None,
    cache_dir: str | Path | None = None,
    progress: bool = True,
) -> AnnData:
    """Load METABRIC, a cohort of primary breast tumours (Curtis et al. 2012, Pereira et al. 2016).

    There are two forms of the data. Without a `path`, the table METABRIC_RNA_Mutation is downloaded: 1904 tumours,
    z-scores of 489 genes from cancer pathways. The study files of cBioPortal hold all measured genes of about 1900 to
    2000 tumours (depending on the release); fetch the archive of study brca_metabric there and give it as `path`.

    Parameters
    ----------
    path
        One of: the table METABRIC_RNA_Mutation as .csv, .csv.gz, or .zip around it; the archive brca_metabric.tar.gz of
        cBioPortal; the folder it unpacks to. None: the table is downloaded (a few MB).
    genes
        Keep only these genes, in this order; case does not matter. Saves time and memory with the study files.
    table
        File name of the expression table in the study files, e.g.
        "data_mrna_illumina_microarray_zscores_ref_diploid_samples.txt". None: the log intensities
        ("data_mrna_illumina_microarray.txt", or under its name in older releases), and z-scores where there are none.
    cache_dir
        Folder for the download. None: the operating system's folder for such files.
    progress
        Show a progress bar while downloading.

    Returns
    -------
    Annotated data, tumours x genes, named by METABRIC id ("MB-0000") and gene symbol (in the table lower case, here
    upper case), with

    ``.X`` : array, float64, (n_obs, n_vars)
        Expression.
    ``.obs["subtype"]`` : categorical
        Categories, in this order and as far as they occur: "normal-like", "luminal A", "luminal B", "HER2", "basal",
        "claudin-low". Missing for tumours without a class ("NC", not classified). :func:`skeltraj.datasets.tcga_brca`
        uses the same words. METABRIC has no normal tissue; "normal-like" is a class of tumours.
    ``.obs`` : categorical or float64
        The clinical columns under their own names ("/" in a name becomes "_"); text as categorical, numbers as float.
        Values are as in the source, its spelling errors included. In the table ``overall_survival`` is 1 for those who
        live, so that it is no event: for :func:`skeltraj.tl.survival` take ``1 - adata.obs["overall_survival"]`` (death
        of any cause), or make one of ``death_from_cancer``, which is missing for one.
    ``.obsm["mutations"]`` : DataFrame, bool, (n_obs, 173)
        Whether the tumour has a change of the protein of each gene. Only from the table.
    ``.var["n_missing"]`` : int
        Missing values of the gene, which were replaced by its median. Only from the study files. A gene without any
        value is left out, and so are rows without a gene symbol. Where a symbol occurs more than once the first row
        counts, as in the import of cBioPortal.
    ``.uns["subtype_colors"]`` : list
        A colour for each category, from the Okabe-Ito palette that is safe for colour-blind readers; a subtype has the
        same colour in both cohorts.
    ``.uns["source"]`` : str
        Where the values come from.

    Raises
    ------
    TypeError, ValueError
        If a file is not as described, or `genes` or `table` does not name what is in it.
    OSError
        If a file does not exist or cannot be downloaded.
    ImportError
        If a download is needed and pooch and tqdm (the extra `download`) are not installed.

    Notes
    -----
    The download comes from a GitHub repository, pinned to a commit. The SHA-256 of the table in the archive is checked
    against the known one.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.metabric()  # doctest: +SKIP
    >>> adata.shape  # doctest: +SKIP
    (1904, 489)
    """
    wanted = _gene_list(genes)
    given = None if path is None else existing(path)
    if given is not None and is_study(given):
        return load_study(given, wanted, table)
    if table is not None:
        raise ValueError(
            f"table={table!r} names a file of the cBioPortal study, which path={given} is not; wanted the archive or "
            "the folder of the study as path, or table=None."
        )
    if given is None:
        return _from_table(_download(cache_folder(cache_dir, "metabric"), progress), METABRIC_URL, wanted)
    return _from_table(read_table(given, preferred=METABRIC_MEMBER), str(given), wanted)


def _gene_list(genes: Sequence[str] | None) -> list[str] | None:
    if genes is None:
        return None
    if isinstance(genes, str):
        raise TypeError(f"genes={genes!r} is a string; wanted a list of gene symbols.")
    wanted = check.texts(genes, "genes")
    if not wanted:
        raise ValueError("genes is an empty list; wanted at least one gene symbol, or None for all.")
    return wanted


def _download(folder: Path, progress: bool) -> pd.DataFrame:
    instead = (
        "the table METABRIC_RNA_Mutation (.csv, .csv.gz or .zip), or brca_metabric.tar.gz of cBioPortal or the folder "
        "it unpacks to"
    )
    archive = fetch(METABRIC_URL, folder, instead=instead, progress=progress)
    with removed_if_bad(archive):
        name, content = zip_member(archive, METABRIC_MEMBER)
        digest = hashlib.sha256(content).hexdigest()
        if digest != METABRIC_MEMBER_SHA256:
            raise ValueError(f"{name} in {METABRIC_URL} has SHA-256 {digest}; wanted {METABRIC_MEMBER_SHA256}.")
    return parse_table(io.BytesIO(content), name)


def _from_table(frame: pd.DataFrame, name: str, genes: list[str] | None) -> AnnData:
    need_columns(frame, ["patient_id", LABEL_COLUMN], name)
    need_unique(frame["patient_id"], name)
    clinical = [column for column in frame.columns if column in CLINICAL_COLUMNS]
    mutations = [column for column in frame.columns if column.endswith(_MUTATION_SUFFIX)]
    others = [column for column in frame.columns if column not in {*clinical, *mutations}]
    # the table has bare numbers ("0"); the study, and every other publication, has "MB-0000"
    frame = frame.set_index(frame["patient_id"].map(lambda i: f"MB-{i:0>4}" if i.isdigit() else i))
    expression = pick_genes(numeric(frame[others], name).rename(columns=str.upper), genes, name)
    adata = annotated(expression, frame[clinical], LABEL_COLUMN, source=_SOURCE, name=name)
    if mutations:
        called = ~frame[mutations].fillna("0").astype(str).isin(["0", "0.0"])
        called.columns = called.columns.str.removesuffix(_MUTATION_SUFFIX).str.upper()
        adata.obsm["mutations"] = called.set_axis(adata.obs_names)
    return adata
