"""The network of myeloid differentiation of Krumsiek et al. (2011) as stochastic differential equations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from importlib import resources

import numpy as np

START = ("Gata2", "Pu.1", "Cebpa")  # on in the progenitor, at 0.8
TIPS = {"erythrocyte": "EKLF", "megakaryocyte": "Fli1", "monocyte": "cJun", "neutrophil": "Gfi1"}  # a gene on in each


@dataclass(frozen=True)
class Model:
    """Genes; for each the genes it depends on, their thresholds and the states of these under which it is on; rate."""

    genes: tuple[str, ...]
    parents: tuple[np.ndarray, ...]
    thresholds: tuple[np.ndarray, ...]
    on: tuple[np.ndarray, ...]
    rate: float


def model() -> Model:
    """The rules and couplings that scanpy ships for ``scanpy.tl.sim("krumsiek11")``."""
    lines = resources.files("scanpy.sim_models").joinpath("krumsiek11.txt").read_text(encoding="utf-8").splitlines()
    rate = next(float(line.split("=")[1]) for line in lines if "invTimeStep" in line)
    rules = dict(line.split(" = ") for line in lines if " = " in line and not line.startswith("#"))
    listed = [line.split() for line in lines if line and line[0] != "#" and "=" not in line]
    coupling = {(gene, read): float(strength) for gene, read, strength in listed}
    genes = tuple(rules)
    parents, thresholds, on = [], [], []
    for gene, rule in rules.items():
        words = rule.replace("(", " ").replace(")", " ").split()
        read = list(dict.fromkeys(word for word in words if word not in {"and", "or", "not"}))
        said = compile(rule.replace(".", "_"), gene, "eval")
        states = itertools.product([False, True], repeat=len(read))
        names = [name.replace(".", "_") for name in read]
        on.append(np.array([s for s in states if eval(said, {}, dict(zip(names, s, strict=True)))]))
        parents.append(np.array([genes.index(name) for name in read]))
        thresholds.append(np.array([0.1 / abs(coupling[gene, name]) for name in read]))
    return Model(genes, tuple(parents), tuple(thresholds), tuple(on), rate)


def change(network: Model, state: np.ndarray) -> np.ndarray:
    """What a step adds to states (runs, genes): ``rate (f(x) - x)``.

    A gene's f is a sum over the states of its parents that turn it on. Each adds a product of Hill functions:
    ``x^2 / (x^2 + t^2)`` of a parent that is on, one minus it of a parent that is off (Wittmann et al. 2009).
    """
    made = np.zeros_like(state)
    for gene, (read, threshold, on) in enumerate(zip(network.parents, network.thresholds, network.on, strict=True)):
        active = state[:, read] ** 2 / (state[:, read] ** 2 + threshold**2)
        made[:, gene] = np.where(on, active[:, None], 1 - active[:, None]).prod(axis=2).sum(axis=1)
    return network.rate * (made - state)


def runs(n_runs: int, rng: np.random.Generator, *, steps: int = 800, noise: float = 0.001) -> np.ndarray:
    """So many courses (runs, steps, genes) from the progenitor, with normal noise added at each step."""
    network = model()
    state = np.zeros((n_runs, len(network.genes)))
    state[:, [network.genes.index(gene) for gene in START]] = 0.8
    state += noise * rng.standard_normal(state.shape)
    course = np.empty((n_runs, steps, len(network.genes)))
    course[:, 0] = state
    for t in range(1, steps):
        state = state + change(network, state) + noise * rng.standard_normal(state.shape)
        course[:, t] = state
    return course
