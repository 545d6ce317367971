"""What comes near to the inverse of the nodes' system, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import close
from samples import as_entries
from skeltraj.core._ddrtree_round import preconditioner
from skeltraj.core._ddrtree_round.node_system import NodeSystem
from skeltraj.core._ddrtree_round.preconditioner import Preconditioner
from skeltraj.core._geometry.assign import assign
from skeltraj.core._solvers.tree_hats import hats


def problem(lam_per_row, gamma, *, n=600, K=200, sigma=0.01):
    """A noisy ring's nodes: their system by products, and as dense matrices T and F."""
    rng = np.random.default_rng(0)
    turn = np.sort(rng.random(n)) * 2 * np.pi
    Z = np.column_stack([np.cos(turn), np.sin(turn)]) + 0.03 * rng.standard_normal((n, 2))
    C = Z[:: n // K]
    R, edges = assign(Z, C, sigma).weights, oracles.kruskal(C)
    mass = np.asarray(R.sum(axis=0)).ravel()
    system = NodeSystem(as_entries(R[:250], R[250:260], R[260:]), mass, R.T @ Z, edges, lam_per_row * n, gamma)
    F = (1 + gamma) * (lam_per_row * n / gamma * oracles.laplacian(edges, K) + np.diag(mass))
    return system, F - gamma * (R.T @ R).toarray(), F


@pytest.mark.parametrize(("lam_per_row", "gamma"), [(0.01, 10.0), (1.0, 10.0), (1.0, 1e3), (1e4, 0.1)])
def test_it_is_the_sum_of_both_parts(lam_per_row, gamma):
    system, T, F = problem(lam_per_row, gamma)
    H = hats(system.tree.order, system.tree.parent, preconditioner._LEAST_STEP).as_matrix().toarray()
    assert 10 < H.shape[1] < 60
    M = system._precondition(np.eye(len(T)))
    wanted = np.linalg.inv(F) + H @ (np.linalg.inv(H.T @ T @ H) - np.linalg.inv(H.T @ F @ H)) @ H.T
    close(M, wanted, 1e-9)
    values = np.linalg.eigvals(M @ T).real
    assert values.min() >= 1 / (1 + gamma) - 1e-9
    assert values.max() <= 2 + 1e-9


def test_a_few_steps_lead_to_the_solution():
    """Of a system for which the tree alone takes many."""
    steps = {}
    for smooth in (True, False):
        system, T, _ = problem(5.0, 100.0, n=2000, K=1000)
        apply, taken = system.apply, []
        system.apply = lambda V, apply=apply, taken=taken: (taken.append(1), apply(V))[1]
        if not smooth:
            system._precondition = system.tree.solve
        close(system.solve(system.gathered), np.linalg.solve(T, system.gathered), 1e-10)
        steps[smooth] = len(taken)
    assert steps[True] < steps[False] / 3


def test_the_second_part_is_left_out_where_it_would_spare_no_steps():
    """With a tree that is hardly stiff and a small sigma R'R matters for rough functions as well."""
    loose, *_ = problem(1e-6, 10.0, sigma=1e-5)
    stiff, *_ = problem(1.0, 10.0, sigma=1e-5)
    assert not len(loose._precondition._L)
    assert len(stiff._precondition._L)
    b = np.random.default_rng(0).standard_normal((200, 3))
    close(loose._precondition(b), loose.tree.solve(b) / 11.0, 1e-12)


def test_without_stiffness_or_where_that_is_out_of_range_the_tree_is_left(monkeypatch):
    system, *_ = problem(0.0, 10.0)
    assert system._precondition == system.tree.solve
    failing = lambda A, **options: (A, 1)
    monkeypatch.setattr(preconditioner.lapack, "dpotrf", failing)
    system, *_ = problem(1.0, 10.0)
    assert isinstance(system._precondition, Preconditioner)
    b = np.random.default_rng(0).standard_normal((200, 3))
    close(system._precondition(b), system.tree.solve(b) / 11.0, 1e-12)
