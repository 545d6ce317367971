"""Literal versions, straight from the papers, slow and dense: what the package is compared with."""

from __future__ import annotations

import numpy as np


def kruskal(points):
    """Minimum spanning tree by sorting all pairs (KDD 2015, problem 3)."""
    n = len(points)
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    pairs = sorted((distance[i, j], i, j) for i in range(n) for j in range(i + 1, n))
    group = list(range(n))

    def top(i):
        while group[i] != i:
            i = group[i]
        return i

    edges = []
    for _, i, j in pairs:
        if top(i) != top(j):
            group[top(i)] = top(j)
            edges.append((i, j))
    return np.array(sorted(edges))


def laplacian(edges, n):
    B = np.zeros((n, n))
    B[edges[:, 0], edges[:, 1]] = B[edges[:, 1], edges[:, 0]] = 1
    return np.diag(B.sum(axis=1)) - B


def soft_assignment(Z, C, sigma):
    """Eq. 12."""
    distance = ((Z[:, None] - C[None]) ** 2).sum(axis=2)
    if sigma == 0:
        R = np.zeros_like(distance)
        R[np.arange(len(Z)), distance.argmin(axis=1)] = 1
        return R
    weight = np.exp(-(distance - distance.min(axis=1, keepdims=True)) / sigma)
    return weight / weight.sum(axis=1, keepdims=True)


def ddrtree_objective(X, W, Z, C, R, edges, lam, sigma, gamma):
    """Eq. 9, term by term."""
    reconstruction = np.linalg.norm(X - Z @ W.T, "fro") ** 2
    tree = lam / 2 * 2 * sum(((W @ C[i] - W @ C[j]) ** 2).sum() for i, j in edges)
    distance = ((Z[:, None] - C[None]) ** 2).sum(axis=2)
    entropy = np.where(R > 0, R * np.log(np.where(R > 0, R, 1)), 0).sum()
    return reconstruction + tree + gamma * ((R * distance).sum() + sigma * entropy)


def pca(X, d):
    _, _, Vt = np.linalg.svd(X, full_matrices=False)
    return Vt[:d].T


def top(matrix, d):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors[:, np.argsort(values)[::-1][:d]]


def ddrtree(X, W, Z, C, lam, sigma, gamma, rounds):
    """Algorithm 2 from a given start; the N x N matrix Q is formed as printed (Proposition 3).

    Returns a list of (W, Z, C, R, edges, objective), the start first; signs of each W follow the one before.
    """
    N, K = len(X), len(C)
    history = []
    for step in range(rounds + 1):
        edges = kruskal(C)
        R = soft_assignment(Z, C, sigma)
        history.append((W, Z, C, R, edges, ddrtree_objective(X, W, Z, C, R, edges, lam, sigma, gamma)))
        if step == rounds:
            return history
        L, Gamma = laplacian(edges, K), np.diag(R.sum(axis=0))
        A = lam / gamma * L + Gamma
        Q = (np.eye(N) + R @ np.linalg.inv((1 + gamma) / gamma * A - R.T @ R) @ R.T) / (1 + gamma)
        new = top(X.T @ Q @ X, Z.shape[1])
        W = new * np.where((W * new).sum(axis=0) < 0, -1, 1)
        Z = Q @ X @ W
        C = np.linalg.solve(A, R.T @ Z)


def drtree_round(X, W, Z, lam):
    """One round of Algorithm 1 (eqs. 6 and 7)."""
    inverse = np.linalg.inv(np.eye(len(X)) + lam * laplacian(kruskal(Z), len(Z)))
    new = top(X.T @ inverse @ X, Z.shape[1])
    W = new * np.where((W * new).sum(axis=0) < 0, -1, 1)
    return W, inverse @ X @ W


def mean_shift_round(Z, C, sigma):
    """Every mean moves to the weighted mean of the points, weights normalised over the means (Proposition 1)."""
    R = soft_assignment(Z, C, sigma)
    return (R.T @ Z) / R.sum(axis=0)[:, None]


def nearest_on_segments(points, nodes, edges):
    """Distance from each point to the nearest of all edges, one pair at a time."""
    best = []
    for p in points:
        found = []
        for i, j in edges:
            along = nodes[j] - nodes[i]
            length = along @ along
            t = 0.0 if length == 0 else min(1.0, max(0.0, (p - nodes[i]) @ along / length))
            found.append(np.linalg.norm(p - nodes[i] - t * along))
        best.append(min(found))
    return np.array(best)


def drtree_objective(X, W, Z, edges, lam):
    """Eq. 4, term by term."""
    return np.linalg.norm(X - Z @ W.T, "fro") ** 2 + lam * sum(((Z[i] - Z[j]) ** 2).sum() for i, j in edges)


def quantisation(X, F, R, sigma):
    """The bracket that all these methods share."""
    distance = ((X[:, None] - F[None]) ** 2).sum(axis=2)
    return (R * distance).sum() + sigma * np.where(R > 0, R * np.log(np.where(R > 0, R, 1)), 0).sum()


def principal_tree(X, F, sigma, gamma, rounds):
    """TPAMI 2017, Algorithm 1 with a spanning tree: a list of (F, R, edges, objective), the start first."""
    history = []
    for _ in range(rounds + 1):
        edges, R = kruskal(F), soft_assignment(X, F, sigma)
        ordered_pairs = sum(((F[i] - F[j]) ** 2).sum() + ((F[j] - F[i]) ** 2).sum() for i, j in edges)
        history.append((F, R, edges, ordered_pairs + gamma * quantisation(X, F, R, sigma)))
        M = 2 * laplacian(edges, len(F)) + gamma * np.diag(R.sum(axis=0))
        F = gamma * np.linalg.inv(M) @ R.T @ X
    return history


def l1_graph_cost(A, F, G, eta, constant):
    """Eq. 13 for a full symmetric matrix of weights."""
    distance = ((F[:, None] - F[None]) ** 2).sum(axis=2)
    error = np.abs(A - G @ A).sum() + constant * np.abs(1 - G.sum(axis=1)).sum()
    return (G * distance).sum() + eta * error


def l1_graph(A, F, allowed, eta, constant):
    """Eq. 13 as printed: every error bounded from both sides, one variable per allowed pair; the full matrix."""
    from scipy.optimize import linprog

    (K, D), pairs = A.shape, np.argwhere(np.triu(allowed, 1))
    A1 = np.c_[A, np.full(K, constant)]
    made = np.zeros((K * (D + 1), len(pairs)))
    for p, (k, m) in enumerate(pairs):
        made[k * (D + 1) : (k + 1) * (D + 1), p] = A1[m]
        made[m * (D + 1) : (m + 1) * (D + 1), p] = A1[k]
    n = len(made)
    cost = np.r_[[2 * ((F[k] - F[m]) ** 2).sum() for k, m in pairs], np.full(n, eta)]
    above = np.block([[made, -np.eye(n)], [-made, -np.eye(n)]])
    found = linprog(cost, A_ub=above, b_ub=np.r_[A1.ravel(), -A1.ravel()], method="highs-ipm")
    G = np.zeros((K, K))
    G[pairs[:, 0], pairs[:, 1]] = G[pairs[:, 1], pairs[:, 0]] = found.x[: len(pairs)]
    return G


def denoised(X, n_components, n_neighbors, n_steps, reference=None):
    """Rows averaged over their nearest neighbours: the matrix P of weights written out, then P ... P X."""
    centred = X - X.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:n_components].T
    among = np.arange(len(X)) if reference is None else reference
    P = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        squares = ((scores[i] - scores[among]) ** 2).sum(axis=1)
        near = np.argsort(squares, kind="stable")[: n_neighbors + 1]
        last = squares[near].max()
        weights = np.exp(-squares[near] / last) if last > 0 else np.ones(len(near))
        P[i, among[near]] = weights / weights.sum()
    for _ in range(n_steps):
        scores = P @ scores
    return scores


def squared_error(nodes, edges, points, data):
    """Sum over the points of the squared distance from where each was measured to its nearest point of the tree."""
    total = 0.0
    for z, x in zip(points, data, strict=True):
        best = (np.inf, None)
        for a, b in nodes[np.asarray(edges)]:
            along = b - a
            t = np.clip((z - a) @ along / (along @ along), 0, 1) if along @ along > 0 else 0.0
            at = a + t * along
            best = min(best, (((z - at) ** 2).sum(), tuple(at)))
        total += ((x - np.array(best[1])) ** 2).sum()
    return total
