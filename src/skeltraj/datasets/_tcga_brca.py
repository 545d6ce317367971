"""The PAM50 genes of the TCGA-BRCA cohort."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from anndata import AnnData

from skeltraj.datasets._cohorts.annotate import annotated, numeric
from skeltraj.datasets._cohorts.files import cache_folder, existing, fetch, removed_if_bad
from skeltraj.datasets._cohorts.tables import listed, need_columns, parse_table, read_gene_rows, read_table

XENA_URL = "https://gdc-hub.s3.us-east-1.amazonaws.com/download/"
EXPRESSION_FILE = "TCGA-BRCA.star_fpkm.tsv.gz"
PROBEMAP_FILE = "gencode.v36.annotation.gtf.gene.probemap"
# the address names a commit, so that the file stays the same
CLINICAL_URL = (
    "https://raw.githubusercontent.com/JigyasaS21/TCGA-BRCA-Transcriptomics-Expression-Analysis/"
    "0012c88aa81e24f1a54fb2b9d6091ae65e3c4525/Data/"
)
CLINICAL_FILE = "brca_tcga_pan_can_atlas_2018_clinical_data.tsv"

PAM50_GENES = (
    "ACTR3B ANLN BAG1 BCL2 BIRC5 BLVRA CCNB1 CCNE1 CDC20 CDC6 CDH3 CENPF CEP55 CXXC5 EGFR ERBB2 ESR1 EXO1 FGFR4 FOXA1 "
    "FOXC1 GPR160 GRB7 KIF2C KRT14 KRT17 KRT5 MAPT MDM2 MELK MIA MKI67 MLPH MMP11 MYBL2 MYC NAT1 NDC80 NUF2 ORC6 PGR "
    "PHGDH PTTG1 RRM2 SFRP1 SLC39A6 TMEM45B TYMS UBE2C UBE2T"
).split()
_OBS = ["sample", "patient", "sample_type", "pam50"]
# by the two digits after the patient in a sample id, e.g. TCGA-3C-AAAU-01A
_SAMPLE_TYPES = {"01": "Primary Tumor", "11": "Solid Tissue Normal"}
_SOURCE = (
    "TCGA-BRCA, log2(FPKM + 1) of the PAM50 genes, UCSC Xena GDC hub; "
    "PAM50 calls: cBioPortal study brca_tcga_pan_can_atlas_2018"
)


def tcga_brca(path: str | Path | None = None, *, cache_dir: str | Path | None = None, progress: bool = True) -> AnnData:
    """Load the PAM50 genes of TCGA-BRCA: breast tumours and normal breast tissue.

    1106 samples of primary tumours (of 1095 patients) and 113 of the normal tissue next to a tumour; RNA-seq of the 50
    genes of the PAM50 classifier (TCGA Network 2012, Parker et al. 2009).

    Parameters
    ----------
    path
        One of: a table (.csv, .csv.gz, or .zip around it) with one row per sample and the columns "sample",
        "patient", "sample_type" ("Primary Tumor" or "Solid Tissue Normal"), "pam50" (LumA, LumB, Her2, Basal, Normal
        or empty) and the 50 genes; a folder with the three files that would be downloaded (see Notes) under their own
        names. None: these files are downloaded (a large download, as the expression file holds all genes).
    cache_dir
        Folder for the download. None: the operating system's folder for such files.
    progress
        Show a progress bar while downloading.

    Returns
    -------
    Annotated data, samples x 50 genes, named by sample id ("TCGA-3C-AAAU-01A") and gene symbol, with

    ``.X`` : array, float64, (n_obs, 50)
        log2(FPKM + 1), rounded to 5 decimals.
    ``.obs["subtype"]`` : categorical
        Categories, in this order and as far as they occur: "normal tissue", "normal-like", "luminal A", "luminal B",
        "HER2", "basal". Missing for tumours without a call. "normal tissue" is no tumour, "normal-like" is a class of
        tumours. :func:`skeltraj.datasets.metabric` uses the same words.
    ``.obs["sample"]``, ``.obs["patient"]``, ``.obs["sample_type"]``, ``.obs["pam50"]`` : categorical
        Ids, the kind of tissue, and the call as in the source.
    ``.uns["subtype_colors"]`` : list
        A colour for each category, from the Okabe-Ito palette that is safe for colour-blind readers; a subtype has the
        same colour in both cohorts.
    ``.uns["source"]`` : str
        Where the values come from.

    Raises
    ------
    ValueError
        If a file is not as described.
    OSError
        If a file does not exist or cannot be downloaded.
    ImportError
        If a download is needed and pooch and tqdm (the extra `download`) are not installed.

    Notes
    -----
    Three files are downloaded: TCGA-BRCA.star_fpkm.tsv.gz and gencode.v36.annotation.gtf.gene.probemap from the GDC
    hub of UCSC Xena, and brca_tcga_pan_can_atlas_2018_clinical_data.tsv (an export of cBioPortal, pinned to a commit
    of a GitHub repository) with the PAM50 calls, which are joined by patient. No hashes of them are published. Checked
    is the content: all 50 genes, samples of tumours and of normal tissue, and PAM50 calls for them; and that the copies
    stay as they were downloaded, by their SHA-256. Where two Ensembl
    genes share a symbol, the one with the higher mean is taken.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.tcga_brca()  # doctest: +SKIP
    >>> adata.shape  # doctest: +SKIP
    (1219, 50)
    """
    if path is None:
        return _from_table(_download(cache_folder(cache_dir, "tcga_brca"), progress), XENA_URL)
    given = existing(path)
    if given.is_dir():
        files = (_file_in(given, name) for name in (EXPRESSION_FILE, PROBEMAP_FILE, CLINICAL_FILE))
        return _from_table(_from_sources(*files), str(given))
    return _from_table(read_table(given), str(given))


def _download(folder: Path, progress: bool) -> pd.DataFrame:
    # the small files first: they fail soon
    instead = (
        f"a folder with the files {CLINICAL_FILE}, {PROBEMAP_FILE} and {EXPRESSION_FILE}, or one table (.csv, .csv.gz "
        "or .zip) with a row per sample"
    )
    clinical, probemap, expression = (
        fetch(address, folder, instead=instead, progress=progress)
        for address in (CLINICAL_URL + CLINICAL_FILE, XENA_URL + PROBEMAP_FILE, XENA_URL + EXPRESSION_FILE)
    )
    with removed_if_bad(expression, probemap, clinical):
        return _from_sources(expression, probemap, clinical)


def _file_in(folder: Path, name: str) -> Path:
    for candidate in (name, name.removesuffix(".gz")):
        if (folder / candidate).is_file():
            return folder / candidate
    there = sorted(path.name for path in folder.iterdir())
    raise FileNotFoundError(f"{folder} has no file {name}. Available: {listed(there)}.")


def _from_sources(expression_file: Path, probemap_file: Path, clinical_file: Path) -> pd.DataFrame:
    """The table of samples, made from the three files."""
    expression = _read_expression(expression_file, _read_probemap(probemap_file))
    sample_type = expression.index.str[13:15].map(_SAMPLE_TYPES)
    for code, kind in _SAMPLE_TYPES.items():
        if kind not in sample_type:
            raise ValueError(
                f"{expression_file} has the samples {listed(expression.index)}, none of {kind}; wanted some, with ids "
                f"like TCGA-3C-AAAU-{code}A."
            )
    obs = pd.DataFrame({"sample": expression.index, "patient": expression.index.str[:12], "sample_type": sample_type})
    calls = _read_pam50_calls(clinical_file)
    is_tumour = obs["sample_type"] == _SAMPLE_TYPES["01"]
    obs["pam50"] = obs["patient"].map(calls).where(is_tumour)
    if obs["pam50"].isna().all():
        raise ValueError(
            f"{clinical_file} has the patients {listed(calls.index)}, none of whom is in {expression_file}; wanted "
            f"some of {listed(obs['patient'])}."
        )
    frame = pd.concat([obs, expression.reset_index(drop=True)], axis="columns")
    # metastases (code 06) fall out here: they have no sample type
    return frame.dropna(subset="sample_type").sort_values("sample", ignore_index=True)


def _read_probemap(file: Path) -> pd.Series:
    """The symbols of the PAM50 genes by Ensembl id."""
    probemap = parse_table(file.open("rb"), str(file), sep="\t")
    need_columns(probemap, ["id", "gene"], str(file))
    symbols = probemap.set_index("id")["gene"]
    symbols = symbols[symbols.isin(PAM50_GENES)]
    _need_genes(symbols, str(file))
    return symbols


def _read_expression(file: Path, symbols: pd.Series) -> pd.DataFrame:
    """Samples x PAM50 genes; of the rows of one symbol the one with the highest mean counts."""
    rows = read_gene_rows(file.open("rb"), str(file), None, symbols.index.tolist())
    rows = rows.loc[rows.mean(axis="columns").sort_values(ascending=False).index]
    rows.index = rows.index.map(symbols.to_dict())
    rows = rows[~rows.index.duplicated()]
    _need_genes(rows.index, str(file))
    return rows.loc[PAM50_GENES].T


def _read_pam50_calls(file: Path) -> pd.Series:
    """The calls by patient."""
    clinical = parse_table(file.open("rb"), str(file), sep="\t")
    need_columns(clinical, ["Patient ID", "Subtype"], str(file))
    calls = clinical.dropna(subset="Subtype").drop_duplicates("Patient ID").set_index("Patient ID")["Subtype"]
    return calls.str.removeprefix("BRCA_")


def _need_genes(symbols: Iterable[str], name: str) -> None:
    missing = set(PAM50_GENES).difference(symbols)
    if missing:
        raise ValueError(f"{name} has no {listed(missing)}; wanted all 50 genes of PAM50.")


def _from_table(frame: pd.DataFrame, name: str) -> AnnData:
    need_columns(frame, [*_OBS, *PAM50_GENES], name)
    kinds = set(_SAMPLE_TYPES.values())
    unknown = set(frame["sample_type"]) - kinds
    if unknown:
        raise ValueError(f"{name} has the sample_type {listed(unknown)}; wanted {listed(kinds)}.")
    frame = frame.set_index("sample", drop=False)
    is_tissue = frame["sample_type"] == _SAMPLE_TYPES["11"]
    # tables of these values have five decimals: so every source gives the same
    expression = numeric(frame[PAM50_GENES], name).round(5)
    return annotated(expression, frame[_OBS], "pam50", source=_SOURCE, name=name, normal_tissue=is_tissue)
