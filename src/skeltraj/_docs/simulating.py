"""Texts about simulated shapes."""

from __future__ import annotations

TEXTS = {
    "shape_n_obs": """\
n_obs
    Number of points, at least 3.""",
    "shape_noise": """\
noise
    Standard deviation of the normal noise in each coordinate.""",
    "shape_rng": """\
rng
    Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.""",
    "shape_uns": """\
``.uns["simulation"]`` : dict
    ``shape``, ``noise`` and, where it was a number, ``rng``.""",
    "shape_raises": """\
Raises
------
TypeError, ValueError
    If an argument is not such a number or is out of range.""",
}
