"""The only place that spells a stored key: of the slots of an AnnData, and of the dictionaries within them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def check_name(key: object, what: str) -> None:
    """Raise an error if something cannot be stored under a key, a user's `key_added`."""
    if not isinstance(key, str) or key in ("", ".", "..") or "/" in key or "\0" in key:
        raise ValueError(
            f"key_added={key!r} cannot name {what}; wanted a string, not empty, without a slash, that a file can hold."
        )


def coordinates_of(key: str) -> str:
    """Key in `obsm` of the coordinates of a fit named `key`, which need not be a name that a fit can have."""
    return f"X_{key}"


@dataclass(frozen=True)
class Keys:
    """Keys under which results of a fit named `key` are stored."""

    key: str

    def __post_init__(self) -> None:
        check_name(self.key, "a fit")

    @property
    def uns(self) -> str:
        return self.key

    @property
    def coordinates(self) -> str:
        return coordinates_of(self.key)

    @property
    def assignment(self) -> str:
        return f"{self.key}_assignment"

    @property
    def loadings(self) -> str:
        return f"{self.key}_loadings"

    @property
    def similarity(self) -> str:
        return f"{self.key}_similarity"

    @property
    def pseudotime(self) -> str:
        return f"{self.key}_pseudotime"

    @property
    def branch(self) -> str:
        return f"{self.key}_branch"

    @property
    def branch_colors(self) -> str:
        return f"{self.branch}_colors"  # where scanpy looks for the colours of a column

    @property
    def component(self) -> str:
        return f"{self.key}_component"

    @property
    def distance(self) -> str:
        return f"{self.key}_distance"

    @property
    def far(self) -> str:
        return f"{self.key}_far"

    @property
    def likeness(self) -> str:
        return f"{self.key}_likeness"

    @property
    def position(self) -> str:
        return f"{self.key}_position"

    @property
    def lineages(self) -> str:
        return f"{self.key}_lineages"

    @property
    def pseudotime_sd(self) -> str:
        return f"{self.key}_pseudotime_sd"

    @property
    def association(self) -> str:
        return f"{self.key}_association"

    @property
    def branch_test(self) -> str:
        return f"{self.key}_branch_test"

    @property
    def condition_test(self) -> str:
        return f"{self.key}_condition_test"

    @property
    def compared(self) -> str:
        return f"{self.key}_compared"

    @property
    def trends(self) -> str:
        return f"{self.key}_trends"

    @property
    def trends_error(self) -> str:
        return f"{self.key}_trends_se"

    @property
    def trend_cluster(self) -> str:
        return f"{self.key}_trend_cluster"

    @property
    def size_factor(self) -> str:
        return f"{self.key}_size_factor"

    @property
    def branch_probability(self) -> str:
        return f"{self.key}_branch_probability"


class Entry:
    """Keys of the dictionary of a fit, ``uns[key]``."""

    PARAMS = "params"
    NODES = "nodes"
    EDGES = "edges"
    EDGE_LENGTH = "edge_length"
    WEIGHTS = "weights"
    OBJECTIVE = "objective"
    CONVERGED = "converged"
    N_ITER = "n_iter"
    MEAN = "mean"
    LOADINGS = "loadings"
    VALUE = "value"
    CERTIFICATE = "certificate"
    INPUT = "input"
    DENOISE = "denoise"
    AGREEMENT = "agreement"
    TIP_CHOICE = "tip_choice"
    STARTS = "starts"
    PRUNED = "pruned"
    ORDER = "order"
    STABILITY = "stability"
    COMPOSITION = "composition"
    SURVIVAL = "survival"
    ASSOCIATION = "association"
    BRANCH_TEST = "branch_test"
    CONDITION_TEST = "condition_test"
    COLUMN_ASSOCIATION = "column_association"
    COLUMN_TEST = "column_test"
    DIRECTION = "direction"
    TRENDS = "trends"
    ATTACHED = "attached"
    PATH = "path"
    INGESTED = "ingested"
    MADE_OF = "made_of"  # in each record of what was made of a tree


class Param:
    """Keys of ``uns[key]["params"]`` beside the arguments of the method."""

    METHOD = "method"
    VERSION = "version"
    FORMAT = "format"
    USE_REP = "use_rep"
    LAYER = "layer"
    KERNEL = "kernel_key"
    DISTANCES = "distances_key"
    NEIGHBORS = "neighbors_key"
    N_STARTS = "n_starts"
    RNG = "rng"


class InputEntry:
    """Keys of ``uns[key]["input"]``, by which the input of a fit is known again."""

    N_COLUMNS = "n_columns"
    VAR_NAMES = "var_names"
    CELLS = "cells"
    SIZE = "size"
    NUMBER = "number"


class DenoiseEntry:
    """Keys of ``uns[key]["denoise"]``: fields of :class:`skeltraj.core.Denoised`, which denoise other cells alike."""

    REFERENCE = "reference"
    MEANS = "means"
    AXES = "axes"
    LOADINGS = "loadings"
    MEAN = "mean"
    N_NEIGHBORS = "n_neighbors"
    N_STEPS = "n_steps"
    UNMIXING = "unmixing"
    MEDIANS = "medians"
    ARRAYS = (REFERENCE, MEANS, AXES, LOADINGS, MEAN)
    NUMBERS = (N_NEIGHBORS, N_STEPS)
    IF_COMPRESSED = (UNMIXING, MEDIANS)  # arrays


class OrderEntry:
    """Keys of ``uns[key]["order"]``."""

    ROOT = "root"
    RULE = "root_rule"
    RANKING = "ranking"
    NODE_PSEUDOTIME = "node_pseudotime"
    TIPS = "tips"
    FORKS = "forks"
    BRANCHES = "branches"


class PrunedEntry:
    """Keys of ``uns[key]["pruned"]``; nodes and edges are those of the tree as fitted, but for those of "kept"."""

    REPORT = "report"
    KEPT = "kept"
    NODES = "nodes"
    EDGES = "edges"
    PLACE = "place"
    MIN_GAIN = "min_gain"
    RESOLUTION = "resolution"


class StabilityEntry:
    """Keys of ``uns[key]["stability"]``; those of "consensus" are nodes, edges and place."""

    BRANCHES = "branches"
    FORKS = "forks"
    EDGES = "edges"
    CONSENSUS = "consensus"
    NODES = "nodes"
    PLACE = "place"
    N_REPLICATES = "n_replicates"
    VARY = "vary"


class PathEntry:
    """Keys of ``uns[key]["path"]``; nodes, edges and names are those of the skeleton that the path was taken from."""

    START = "start"
    END = "end"
    NODES = "nodes"
    EDGES = "edges"
    TIPS = "tips"
    FORKS = "forks"
    BRANCHES = "branches"


class IngestedEntry:
    """Keys of ``uns[key]["ingested"]``."""

    N_OBS = "n_obs"
    VERSION = "version"
    INPUT = "input"
    N_SAME = "n_same"
    QUANTILE = "quantile"


class CompositionEntry:
    """Keys of ``uns[key]["composition"][groupby]``."""

    BRANCHES = "branches"
    PSEUDOTIME = "pseudotime"
    BINS = "bins"
    PROGRESS = "progress"
    CHI2 = "chi2"
    CHI2_P_VALUE = "chi2_p_value"
    PERMUTED = "permuted"
    SAMPLE = "sample"
    N_PERMUTATIONS = "n_permutations"
    N_DISTINCT = "n_distinct"
    SMALLEST_P_VALUE = "smallest_p_value"
    N_CELLS = "n_cells"
    LEFT_OUT = "left_out"


class SurvivalEntry:
    """Keys of ``uns[key]["survival"]``."""

    COEFFICIENTS = "coefficients"
    TESTS = "tests"
    MODELS = "models"
    BRANCHES = "branches"
    STRETCHES = "stretches"
    BRANCH_CURVES = "branch_curves"
    STRETCH_CURVES = "stretch_curves"
    LEFT_OUT = "left_out"
    PARAMS = "params"


class SurvivalParam:
    """Keys of ``uns[key]["survival"]["params"]``."""

    TIME = "time"
    EVENT = "event"
    COVARIATES = "covariates"
    REFERENCE = "reference"
    TIES = "ties"
    N_STRETCHES = "n_stretches"
    HORIZON = "horizon"
    PSEUDOTIME_SD = "pseudotime_sd"
    N_SAMPLES = "n_samples"
    N_EVENTS = "n_events"


class TestEntry:
    """Keys of ``uns[key]["association"]``, ``["condition_test"]``, ``["column_test"]``, each of ``["branch_test"]``."""

    FAMILY = "family"
    LAYER = "layer"
    USE_REP = "use_rep"
    SIZE_FACTORS = "size_factors"
    COVARIATES = "covariates"
    N_CELLS = "n_cells"
    N_GENES = "n_genes"
    N_CONSTANT = "n_constant"
    KNOTS = "knots"
    DEGREES = "degrees"
    EXPLORATORY = "exploratory"
    N_SPLITS = "n_splits"
    VERSION = "version"
    KIND = "kind"
    ARMS = "arms"
    ALIGN = "align"
    BETWEEN = "between"
    CONDITION = "condition"
    CONDITIONS = "conditions"
    SAMPLE = "sample"
    N_SAMPLES = "n_samples"
    PAIRED = "paired"
    LEFT_OUT = "left_out"
    DIGEST = "digest"  # by which counts and covariates are known again


class DirectionEntry:
    """Keys of ``uns[key]["direction"]``."""

    BRANCHES = "branches"
    ROOTS = "roots"
    MARGIN = "margin"
    PARAMS = "params"
    N_CELLS = "n_cells"
    LEFT_OUT = "left_out"


class TrendsEntry:
    """Keys of ``uns[key]["trends"]`` beside those of a test."""

    PLACES = "places"
    CLUSTERS = "clusters"
    EXPLAINED = "explained"
    Q_MAX = "q_max"


class Place:
    """Columns of the table of places at which curves are stored; lineages have columns by their names."""

    BRANCH = "branch"
    ALONG = "along"
    PSEUDOTIME = "pseudotime"
    SUPPORT = "support"
    N_CELLS = "n_cells"
    ALL = (BRANCH, ALONG, PSEUDOTIME, SUPPORT, N_CELLS)


class Column:
    """Columns of the stored tables that one file writes and another one reads."""

    SCORE = "score"
    P_VALUE = "p_value"
    Q_VALUE = "q_value"
    NAIVE_P_VALUE = "naive_p_value"
    LEVEL = "level"
    CHANGE = "change"
    CHANGE_ERROR = "change_error"
    LEVEL_P_VALUE = "level_p_value"
    SHAPE_P_VALUE = "shape_p_value"
    MEAN_CHANGE = "mean_change"
    WHERE_BRANCH = "where_branch"
    WHERE_PSEUDOTIME = "where_pseudotime"
    SIGN = "sign"
    UP = "up"
    PEAK_BRANCH = "peak_branch"
    PEAK_PSEUDOTIME = "peak_pseudotime"
    PARTING = "parting"
    PARTING_LOW = "parting_low"
    PARTING_HIGH = "parting_high"
    DEVIANCE_EXPLAINED = "deviance_explained"
    MEAN = "mean"
    DISPERSION = "dispersion"

    N_CELLS = "n_cells"
    SUPPORT = "support"
    FOUND_AGAIN = "found_again"
    ORDER = "order"
    OVERLAP = "overlap"
    TRIPLETS = "triplets"
    STARTS = "starts"
    START = "start"
    END = "end"
    TIME = "time"
    N_SAMPLES = "n_samples"
    N_EVENTS = "n_events"
    AGREEMENT = "agreement"
    VALUE = "value"


def entry_of(column: str) -> str:
    """The name of what is stored in `uns` for a column of `obs`: in a file a slash would begin another level.

    Instead there is a division slash, which nobody writes into the name of a column.
    """
    return column.replace("/", "\u2215")


def names(prefix: str, n: int) -> np.ndarray:
    """Ids of `n` tips (prefix T), forks (F) or branches (B): T1, T2, ..."""
    return np.array([f"{prefix}{i}" for i in range(1, n + 1)], dtype=object)
