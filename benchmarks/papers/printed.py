"""What the papers print: method by method, (accuracy, NMI) of K-means, or accuracy of one nearest neighbour.

KDD: Mao, Wang, Goodison, Sun. Dimensionality reduction via graph structure learning. KDD 2015, Table 1. In the text
that we read it from, the lines of Glass and Segment, and of Iris and Letter, are interlaced; every line of numbers
follows the dimensions of its set, which Wang's table confirms. MPME's paper prints the same numbers of K-means and PCA
for Letter and USPS.

MPME: Mao, Wang, Tsang. A unified probabilistic framework for robust manifold learning and embedding. Machine Learning
106, 2017, Table 2.

SPL: Wang. Probabilistic dimensionality reduction via structure learning, Table 1.

Left out, not among our data: Pendigits (all three), Satimage (MPME, SPL), CMU-PIE (SPL).
"""

from __future__ import annotations

Scores = tuple[float, ...]

# dimensions that keep 95 % of the energy, as printed
DIMENSIONS = {
    "iris": 2,
    "letter": 12,
    "vehicle": 6,
    "glass": 6,
    "segment": 7,
    "usps": 32,
    "coil20": 84,
    "yaleb": 116,
    "isolet": 165,
}

_KDD_METHODS = ("K-means", "PCA", "LLE", "Laplacian", "DRTree", "DDRTree")
_KDD_ACCURACY = {
    "iris": (0.8867, 0.8867, 0.4733, 0.5400, 0.8600, 0.8867),
    "letter": (0.2632, 0.2634, 0.0662, 0.0672, 0.3112, 0.3178),
    "vehicle": (0.3664, 0.3676, 0.2837, 0.2884, 0.4090, 0.4208),
    "glass": (0.4346, 0.4346, 0.3131, 0.2570, 0.4393, 0.4626),
    "segment": (0.6658, 0.6649, 0.2827, 0.1740, 0.6706, 0.6913),
    "usps": (0.6153, 0.6208, 0.1550, 0.1570, 0.6104, 0.6667),
}
_KDD_NMI = {
    "iris": (0.7364, 0.7364, 0.3592, 0.2779, 0.7118, 0.7364),
    "letter": (0.3621, 0.3591, 0.0236, 0.0214, 0.4487, 0.4359),
    "vehicle": (0.1000, 0.0997, 0.0044, 0.0075, 0.1241, 0.1337),
    "glass": (0.3236, 0.3264, 0.0465, 0.0422, 0.3269, 0.3536),
    "segment": (0.6115, 0.6099, 0.1184, 0.0065, 0.6163, 0.6437),
    "usps": (0.5657, 0.5664, 0.0112, 0.0091, 0.6321, 0.6687),
}

_MPME_SETS = ("letter", "usps", "coil20", "yaleb", "isolet")
_MPME_ACCURACY = {
    "K-means": (0.2632, 0.6153, 0.6674, 0.1081, 0.5633),
    "PCA": (0.2634, 0.6208, 0.6674, 0.1110, 0.5633),
    "KPCA": (0.2596, 0.1933, 0.2243, 0.0766, 0.5008),
    "LLE": (0.3084, 0.1624, 0.3493, 0.0667, 0.5021),
    "LE": (0.0674, 0.4828, 0.3889, 0.1475, 0.5361),
    "lMVU": (0.1484, 0.3896, 0.5146, 0.0684, 0.5989),
    "GPLVM": (0.2634, 0.4709, 0.6674, 0.0671, 0.5630),
    "MEU": (0.2518, 0.6129, 0.3590, 0.3094, 0.5476),
    "tSNE": (0.3856, 0.7603, 0.7319, 0.3592, 0.5976),
    "MPME": (0.3432, 0.7344, 0.7590, 0.4010, 0.6935),
}
_MPME_NMI = {
    "K-means": (0.3621, 0.5657, 0.7845, 0.1694, 0.0117),
    "PCA": (0.3591, 0.5664, 0.7845, 0.1781, 0.0117),
    "KPCA": (0.3528, 0.1085, 0.3104, 0.0911, 0.0006),
    "LLE": (0.3992, 0.0106, 0.3848, 0.0810, 0.0004),
    "LE": (0.0211, 0.4522, 0.5077, 0.2534, 0.0369),
    "lMVU": (0.1379, 0.3858, 0.6595, 0.0870, 0.0292),
    "GPLVM": (0.3591, 0.3824, 0.7845, 0.0716, 0.0116),
    "MEU": (0.3341, 0.5743, 0.5067, 0.4174, 0.0151),
    "tSNE": (0.5059, 0.7868, 0.8743, 0.5925, 0.0288),
    "MPME": (0.4616, 0.7611, 0.8862, 0.5301, 0.1109),
}

_SPL_SETS = ("iris", "coil20", "isolet", "usps", "vehicle", "segment", "letter")
_SPL_ACCURACY = {
    "LLE": (0.9467, 0.9965, 0.9298, 0.9013, 0.6537, 0.9623, 0.8960),
    "LE": (0.9133, 0.9833, 0.9368, 0.9023, 0.5981, 0.9398, 0.7436),
    "MVU": (0.6533, 0.7660, 0.8035, 0.7693, 0.5579, 0.9342, 0.6042),
    "KPCA": (0.9000, 0.5583, 0.7086, 0.3303, 0.5615, 0.9550, 0.8488),
    "GPLVM": (0.9333, 1.0000, 0.8410, 0.5944, 0.5898, 0.9688, 0.8974),
    "MEU": (0.8867, 1.0000, 0.9349, 0.9312, 0.6407, 0.9537, 0.1244),
    "SMCE": (0.9400, 1.0000, 0.9314, 0.9307, 0.6832, 0.9398, 0.8790),
    "tSNE": (0.9600, 1.0000, 0.9468, 0.9292, 0.6738, 0.9671, 0.9134),
    "SPL": (0.9600, 1.0000, 0.9497, 0.9317, 0.6915, 0.9680, 0.9054),
}

# set -> method -> scores
KDD: dict[str, dict[str, Scores]] = {
    name: dict(zip(_KDD_METHODS, zip(_KDD_ACCURACY[name], _KDD_NMI[name], strict=True), strict=True))
    for name in _KDD_ACCURACY
}
MPME: dict[str, dict[str, Scores]] = {
    name: {method: (_MPME_ACCURACY[method][i], _MPME_NMI[method][i]) for method in _MPME_ACCURACY}
    for i, name in enumerate(_MPME_SETS)
}
SPL: dict[str, dict[str, Scores]] = {
    name: {method: (_SPL_ACCURACY[method][i],) for method in _SPL_ACCURACY} for i, name in enumerate(_SPL_SETS)
}
