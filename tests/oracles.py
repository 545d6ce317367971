"""Literal versions, straight from the papers, slow and dense: what the package is compared with."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, sqrtm
from scipy.optimize import linprog, minimize

from skeltraj.core._branches.held_out import divisions, principal_axes


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
        distances = []
        for i, j in edges:
            along = nodes[j] - nodes[i]
            length = along @ along
            t = 0.0 if length == 0 else min(1.0, max(0.0, (p - nodes[i]) @ along / length))
            distances.append(np.linalg.norm(p - nodes[i] - t * along))
        best.append(min(distances))
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
    (K, D), pairs = A.shape, np.argwhere(np.triu(allowed, 1))
    A1 = np.c_[A, np.full(K, constant)]
    made = np.zeros((K * (D + 1), len(pairs)))
    for p, (k, m) in enumerate(pairs):
        made[k * (D + 1) : (k + 1) * (D + 1), p] = A1[m]
        made[m * (D + 1) : (m + 1) * (D + 1), p] = A1[k]
    n = len(made)
    cost = np.r_[[2 * ((F[k] - F[m]) ** 2).sum() for k, m in pairs], np.full(n, eta)]
    above = np.block([[made, -np.eye(n)], [-made, -np.eye(n)]])
    solution = linprog(cost, A_ub=above, b_ub=np.r_[A1.ravel(), -A1.ravel()], method="highs-ipm")
    G = np.zeros((K, K))
    G[pairs[:, 0], pairs[:, 1]] = G[pairs[:, 1], pairs[:, 0]] = solution.x[: len(pairs)]
    return G


def denoised(X, n_components, n_neighbors, n_steps, reference=None, n_tangents=0, equalize=False):
    """Rows averaged over their nearest neighbours: the matrix P of weights written out, then P ... P X.

    Along the leading principal axes of the means that the nearest row of the reference was averaged from, a row stays.
    """
    centred = X - X.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:n_components].T
    among = np.arange(len(X)) if reference is None else reference
    if equalize:
        scores = scores @ equalizing(scores, among, n_neighbors)
    P, nearest = neighbor_weights(scores, among, n_neighbors)
    means = np.linalg.matrix_power(P, n_steps) @ scores
    out = means.copy()
    if n_tangents:
        reach = np.linalg.matrix_power(P, n_steps)
        for i in range(len(X)):
            weights = reach[nearest[i]]
            away = means - weights @ means
            axes = np.linalg.svd(np.sqrt(weights)[:, None] * away)[2][:n_tangents]
            out[i] += axes.T @ (axes @ (scores[i] - means[i]))
    return out


def neighbor_weights(scores, among, n_neighbors):
    """The matrix P of the weights of rows `among` all, for all; and the nearest of these to each row."""
    P = np.zeros((len(scores), len(scores)))
    nearest = np.zeros(len(scores), dtype=int)
    for i in range(len(scores)):
        squares = ((scores[i] - scores[among]) ** 2).sum(axis=1)
        near = np.argsort(squares, kind="stable")[: n_neighbors + 1]
        nearest[i] = among[near[0]]
        last = squares[near].max()
        weights = np.zeros(len(squares))
        if last > 0:
            nearer, alike = squares < last * (1 - 1e-6), np.abs(squares - last) <= 1e-6 * last
            weights[nearer] = np.exp(-squares[nearer] / last)
            # those equally far, be they among the nearest or not, share what is left
            weights[alike] = np.exp(-1) * (len(near) - nearer.sum()) / alike.sum()
        else:
            weights[near] = 1.0
        P[i, among] = weights / weights.sum()
    return P, nearest


def equalizing(scores, among, n_neighbors, of=None):
    """T: of the residuals of rows from the weighted means of their neighbours, themselves not among these.

    Of the rows `of`; None: of all `among` which neighbours are.

    Of twice as many as a row is averaged over, the row among them, with weights that fall to 0 at the last. Four times,
    each time from the neighbours of the rows multiplied by the T before.
    """
    q = scores.shape[1]
    T = np.eye(q)
    for _ in range(4):
        C = np.zeros((q, q))
        for i in among if of is None else of:
            squares = {j: float((scores[i] - scores[j]) @ T @ T @ (scores[i] - scores[j])) for j in among if j != i}
            near = sorted(squares, key=squares.get)[: 2 * (n_neighbors + 1) - 1]
            farthest = squares[near[-1]]
            weights = [1 - squares[j] / farthest if squares[j] < (1 - 1e-6) * farthest else 0.0 for j in near]
            if farthest == 0:
                weights = [1.0] * len(near)
            if not sum(weights):
                continue
            residual = scores[i] - sum(w * scores[j] for w, j in zip(weights, near, strict=True)) / sum(weights)
            C += np.outer(residual, residual) / len(among if of is None else of)
        # half-way to equal noise; by a fifth if all directions have the same variance (largest over smallest up to
        # 1.2), between the two up to twice; less in directions with more than 3 times the upper quartile of the noise,
        # not at all from 5 times on, unless noise has less than 1/2 to 1/4 of its median share in the variance there
        variances, vectors = np.linalg.eigh(C)
        shares = [v / np.var(scores[among] @ vector) for v, vector in zip(variances, vectors.T, strict=True)]
        weights = []
        for v, share in zip(variances, shares, strict=True):
            stands_out = min(1, max(0, (v / np.quantile(variances, 0.75) - 3) / 2))
            is_noise = min(1, max(0, 4 * (share / np.median(shares) - 1 / 4)))
            weights.append(1 - stands_out * is_noise)
        equal = sum(w * v for w, v in zip(weights, variances, strict=True)) / sum(weights)
        equal = max(equal, np.mean(variances) / 4)
        whole = np.linalg.eigvalsh(np.cov(scores[among].T))
        uneven = np.log(whole[-1] / whole[0] / 1.2) / np.log(2 / 1.2)
        most = 0.2 + 0.3 * min(1, max(0, uneven))
        shrunk = [(1 - most * w) * v + most * w * equal for w, v in zip(weights, variances, strict=True)]
        T = np.sqrt(equal) * np.linalg.inv(sqrtm(vectors @ np.diag(shrunk) @ vectors.T).real)
    return T


def compressed(scores, n_rounds=50):
    """Heavy tails drawn in along independent components, by loops over rows and directions."""
    n, q = scores.shape
    mean = scores.mean(axis=0)
    _, lengths, axes = np.linalg.svd(scores - mean, full_matrices=False)
    whitening = axes.T / lengths * np.sqrt(n)
    Z = (scores - mean) @ whitening
    W = np.linalg.svd(sum(z @ z * np.outer(z, z) for z in Z))[0]
    for _ in range(n_rounds):
        gradient = sum(np.outer(z, (W.T @ z) ** 3) for z in Z)
        W = gradient @ np.linalg.inv(sqrtm(gradient.T @ gradient).real)
    change = np.zeros((n, q))
    for j in range(q):
        source = Z @ W[:, j]
        median = np.median(source)
        unit = 1.4826 * np.median(np.abs(source - median))
        for i in range(n):
            z = (source[i] - median) / unit
            change[i, j] = unit * np.sign(z) * (np.sqrt(1 + 2 * abs(z)) - 1) + median - source[i]
    return scores + change @ W.T @ np.linalg.inv(whitening)


def held_out_distance(nodes, edges, data, by, within):
    """Sum of distances in the directions `within` of points put on the tree by the directions `by`, by loops."""
    total = 0.0
    for x in data:
        best = (np.inf, None)
        for a, b in nodes[np.asarray(edges)]:
            start, along = a @ by, (b - a) @ by
            t = np.clip((x @ by - start) @ along / (along @ along), 0, 1) if along @ along > 0 else 0.0
            best = min(best, (((x @ by - start - t * along) ** 2).sum(), tuple((a + t * (b - a)) @ within)))
        total += np.sqrt(((x @ within - np.array(best[1])) ** 2).sum())
    return total


def gain(nodes, edges, gone, data):
    """The mean over the divisions of ``(S' - S) / S`` without the edges `gone`, every point placed by loops."""
    n, axes = len(data), principal_axes(nodes)
    edges = np.asarray(edges).tolist()
    left = [edge for edge in edges if edge not in gone]
    gains = []
    for by, within in divisions(axes.shape[1]):
        with_it = held_out_distance(nodes, edges, data, axes @ by, axes @ within)
        without = held_out_distance(nodes, left, data, axes @ by, axes @ within)
        gains.append(without / with_it - 1)
    return np.mean(gains) - (np.log(n) / n if axes.shape[1] < 3 else 0)


def squared_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def similarity_laplacian(S):
    return np.diag(S.sum(axis=1)) - S


def from_pairs(pairs, weights, n):
    """The symmetric matrix with these weights."""
    S = np.zeros((n, n))
    for (i, j), s in zip(pairs, weights, strict=True):
        S[i, j] = S[j, i] = s
    return S


def trace_with_difference(M):
    """``Tr(M A_ij)`` of all pairs at once, where A_ij is 1 at (i, i) and (j, j) and -1 at (i, j) and (j, i)."""
    own = np.diag(M)
    return own[:, None] + own[None] - M - M.T


def mpme_value(S, phi, d, lam):
    """Machine Learning 2017, eq. 13."""
    total = 0.0
    for i in range(len(S)):
        for j in range(i):
            total += S[i, j] * phi[i, j]
    return np.linalg.slogdet(similarity_laplacian(S) + lam * np.eye(len(S)))[1] - total / d


def mpme_gradient(S, phi, d, lam):
    """Eq. 14, of all pairs."""
    return trace_with_difference(np.linalg.inv(similarity_laplacian(S) + lam * np.eye(len(S)))) - phi / d


def pair_curvature(phi, pairs, d, scale, damping):
    """Of pairs with a common row, by that row's distances; twice on the diagonal, once for each row of a pair."""
    P = damping * np.eye(len(pairs))
    for k, own in enumerate(pairs):
        for m, others in enumerate(pairs):
            for i in set(own) & set(others):
                j, h = (int(sum(pair) - i) for pair in (own, others))
                inner = (phi[i, j] + phi[i, h] - phi[j, h]) / (2 * d)
                P[k, m] += max(inner, 0.0) ** 2 / (scale[k] * scale[m])
    return P


def mpme(phi, d, lam, C=np.inf):
    """Eq. 13 by L-BFGS-B over all pairs, each measured in units of d over its distance."""
    n = len(phi)
    pairs = np.argwhere(np.tril(np.ones((n, n)), -1))
    price = phi[tuple(pairs.T)] / d

    def negative(x):
        S = np.zeros((n, n))
        S[tuple(pairs.T)] = x / price
        S = S + S.T
        value = np.linalg.slogdet(similarity_laplacian(S) + lam * np.eye(n))[1] - x.sum()
        return -value, -mpme_gradient(S, phi, d, lam)[tuple(pairs.T)] / price

    bounds = [(0, None if C == np.inf else 4 * C * p) for p in price]
    options = dict(maxiter=20_000, maxfun=100_000, ftol=1e-15, gtol=1e-9, maxcor=20)
    solution = minimize(negative, np.zeros(len(pairs)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return from_pairs(pairs, solution.x / price, n)


def kkt_violation(S, gradient, upper, among=None):
    """Largest violation over all pairs, or those `among`: one by one, as the conditions are written."""
    worst = 0.0
    for i in range(len(S)):
        for j in range(i):
            if among is not None and not among[i, j]:
                continue
            if S[i, j] == 0:
                wrong = max(gradient[i, j], 0)
            elif S[i, j] >= upper * (1 - 1e-12):
                wrong = max(-gradient[i, j], 0)
            else:
                wrong = abs(gradient[i, j])
            worst = max(worst, wrong)
    return worst


def kernel_pca(K, d):
    """Centred with H on both sides; eigenvectors times the roots of their values."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(H @ K @ H)
    return vectors[:, ::-1][:, :d] * np.sqrt(values[::-1][:d])


def laplacian_eigenmap(S, lam, d):
    """Machine Learning 2017, eq. 16, without the first vector; D_lambda are the row sums of S + lam I."""
    n = len(S)
    D = np.diag((S + lam * np.eye(n)).sum(axis=1))
    return eigh(similarity_laplacian(S) + lam * np.eye(n), D)[1][:, 1 : d + 1]


def spl_value(S, X, d, gamma, C):
    """Wang, the function f after eq. 19, sums over ordered pairs; X is centred."""
    Q = similarity_laplacian(S) + (gamma + 1) / 4 * np.eye(len(S))
    phi = squared_distances(X)
    value = d / 2 * np.linalg.slogdet(Q)[1] - (S * phi).sum() - (S**2).sum() / (4 * C)
    if gamma == 0:
        return value
    return value - gamma**2 / 8 * np.sort(np.linalg.eigvalsh(X.T @ np.linalg.inv(Q) @ X))[::-1][:d].sum()


def spl_subgradient(S, X, d, gamma, C):
    """Eq. 20, of all pairs; X is centred."""
    n = len(S)
    inverse = np.linalg.inv(similarity_laplacian(S) + (gamma + 1) / 4 * np.eye(n))
    W = top(X.T @ inverse @ X, d) if gamma else np.zeros((X.shape[1], d))
    P = X @ W @ W.T @ X.T @ inverse
    inner = inverse.T @ (d * np.eye(n) + gamma**2 / 4 * P)
    return trace_with_difference(inner) / 2 - S / C - 2 * squared_distances(X)


def spl_subgradient_ascent(X, joined, d, gamma, C, rounds):
    """Algorithm 1 on the graph `joined`: the values, and S, of every round; X is centred."""
    S, history = np.zeros((len(X), len(X))), []
    for step in range(1, rounds + 1):
        history.append((spl_value(S, X, d, gamma, C), S))
        S = np.where(joined, np.maximum(S + spl_subgradient(S, X, d, gamma, C) / step, 0), 0)
    return [*history, (spl_value(S, X, d, gamma, C), S)]


def spl(X, joined, d, gamma, C):
    """Eq. 17 by L-BFGS-B, where nothing is between the d-th eigenvalue and the next; X is centred."""
    n = len(X)
    pairs = np.argwhere(np.tril(joined, -1))
    scale = np.sqrt(8 * squared_distances(X)[tuple(pairs.T)] ** 2 / d + 1 / C)

    def negative(x):
        S = from_pairs(pairs, x / scale, n)
        return -spl_value(S, X, d, gamma, C), -spl_subgradient(S, X, d, gamma, C)[tuple(pairs.T)] / scale

    options = dict(maxiter=5000, maxfun=20_000, ftol=1e-15, gtol=1e-9, maxcor=20)
    start, bounds = np.zeros(len(pairs)), [(0, None)] * len(pairs)
    solution = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return from_pairs(pairs, solution.x / scale, n)


def nearest_in_fantope(A, d):
    """The nearest M with 0 <= M <= I and trace d: eigenvalues shifted, by bisection, and clipped."""
    values, vectors = np.linalg.eigh(A)
    low, high = values.min() - 1, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(values - middle, 0, 1).sum() > d else (low, middle)
    return vectors @ np.diag(np.clip(values - low, 0, 1)) @ vectors.T


def agreement(mine, theirs):
    """F1 of two divisions of the same cells, from the Jaccard index of every pair of sets."""
    sets = [[{i for i, here in enumerate(part) if here == name} for name in set(part)] for part in (mine, theirs)]
    best = [[max(len(a & b) / len(a | b) for b in other) for a in one] for one, other in (sets, sets[::-1])]
    recovery, relevance = map(np.mean, best)
    return 2 * recovery * relevance / (recovery + relevance)


def cells_with(edges, node, without, edge_of_cell):
    """The cells on edges that can be reached from a node once an edge is taken out."""
    reached, more = {node}, True
    while more:
        new = {b for i, e in enumerate(edges) for a, b in (e, e[::-1]) if i != without and a in reached} - reached
        reached, more = reached | new, bool(new)
    return {c for c, e in enumerate(edge_of_cell) if e != without and edges[e][0] in reached}


def arm_support(path, edges, at, other_edges, other_at, other_fraction):
    """How well a branch, its path from the tip to its fork, is found in another tree: cut by cut, cell by cell."""
    n, cuts = len(at), []
    number = {frozenset(e): i for i, e in enumerate(edges)}
    along = [number[frozenset(path[k : k + 2])] for k in range(len(path) - 1)]
    whole = {c for c in range(n) if at[c] in along}
    for k in range(1, len(path)):
        beyond = {c for c in range(n) if at[c] in along[:k]}
        if 2 * len(beyond) >= len(whole) and beyond not in cuts:
            cuts.append(beyond)
    theirs = []
    for e, (_, b) in enumerate(other_edges):
        side = cells_with(other_edges, b, e, other_at)
        on = {c for c in range(n) if other_at[c] == e}
        theirs += [side, side | on, side | {c for c in on if other_fraction[c] > 0.5}]
    found = []
    for cut in cuts:
        p = min(len(cut), n - len(cut))
        d = min(min(len(cut ^ side), n - len(cut ^ side)) for side in theirs)
        found.append(0.0 if p == 0 else max(0.0, 1 - d / max(p - 1, 1)))
    return sum(found) / len(found)


def triplet_support(far, distance):
    """The share of triplets of cells, one of each group, of which none lies between the others: by path lengths."""
    parted = []
    for a in far[0]:
        for b in far[1]:
            for c in far[2]:
                ab, ac, bc = distance[a, b], distance[a, c], distance[b, c]
                spare = min(ab + ac - bc, ab + bc - ac, ac + bc - ab)
                parted.append(spare > 1e-9)
    return sum(parted) / len(parted)


def gain_of_order(nodes, edges, between, data):
    """The mean over the divisions of ``(S' - S) / S`` where the nodes `between` two forks, these included, are one."""
    axes, fork = principal_axes(nodes), min(between)
    merged = np.array(nodes)
    merged[fork] = merged[between].mean(axis=0)
    left = [[fork if node in between else node for node in edge] for edge in np.asarray(edges).tolist()]
    left = [edge for edge in left if edge[0] != edge[1]]
    gains = []
    for by, within in divisions(axes.shape[1]):
        apart = held_out_distance(nodes, edges, data, axes @ by, axes @ within)
        as_one = held_out_distance(merged, left, data, axes @ by, axes @ within)
        gains.append(as_one / apart - 1)
    return np.mean(gains)


def choose_tips(starts, parts, chance, of_line, beside_line, many, most):
    """The number of tips with the largest value, and of each number the agreement, the gain and the value, by loops."""
    numbers = sorted({k for tree in starts for k in tree})
    alike, gains = [], []
    for k in numbers:
        pairs = [(mine, theirs) for mine in starts for theirs in (parts or starts) if mine is not theirs]
        total = sum(
            agreement(mine[k].branch.tolist(), theirs[k].branch.tolist())
            for mine, theirs in pairs
            if k in mine and k in theirs
        )
        alike.append(total / max(len(pairs), 1))
        of_starts = [min(max(tree[k].gain, 0), most) for tree in starts if k in tree]
        gains.append(sum(of_starts) / len(of_starts) if k > 2 else 0.0)
    share = [(of_line + sum(gains[: i + 1])) / (of_line + sum(gains)) for i in range(len(numbers))]
    values = [max(a - chance, 0) * part for a, part in zip(alike, share, strict=True)]
    [n_points] = {len(tree[k].branch) for tree in starts for k in tree}
    if sum(gains) > beside_line * (many / n_points if n_points < many else 1) and max(values[1:], default=0) > 0:
        values[0] = 0
    return numbers[int(np.argmax(values))], numbers, alike, gains, values


def efron_log_likelihood(b, time, event, X):
    """Log partial likelihood of Cox's model, ties after Efron (1977), event by event."""
    hazard, value = np.exp(X @ b), 0.0
    for t in np.unique(time[event]):
        ended, at_risk = (time == t) & event, time >= t
        value += (X[ended] @ b).sum()
        m = ended.sum()
        for j in range(m):
            value -= np.log(hazard[at_risk].sum() - j / m * hazard[ended].sum())
    return value


def cox(time, event, X):
    """Coefficients that maximise the partial likelihood, and their covariance from second differences."""
    p, step = X.shape[1], 1e-4
    found = minimize(lambda b: -efron_log_likelihood(b, time, event, X), np.zeros(p), method="BFGS", tol=1e-10)
    b, moves = found.x, step * np.eye(p)
    value = lambda move: efron_log_likelihood(b + move, time, event, X)
    second = [
        [(value(u + v) - value(u - v) - value(v - u) + value(-u - v)) / (4 * step**2) for v in moves] for u in moves
    ]
    return b, np.linalg.inv(-np.array(second))


def schoenfeld(b, time, event, X):
    """Residuals and covariances of X among those at risk, of each event, ties after Efron; and the events' times.

    Of m events at one time, each has the mean of the m residuals that come from taking them one after another.
    """
    hazard, rows = np.exp(X @ b), []
    for t in np.unique(time[event]):
        ended, at_risk = (time == t) & event, time >= t
        m = ended.sum()
        means, covariances = [], []
        for j in range(m):
            weight = hazard * at_risk - j / m * hazard * ended
            weight = weight / weight.sum()
            means.append(weight @ X)
            covariances.append((X - means[-1]).T @ ((X - means[-1]) * weight[:, None]))
        for i in np.flatnonzero(ended):
            rows.append((t, X[i] - np.mean(means, axis=0), np.mean(covariances, axis=0)))
    times, residuals, covariances = zip(*rows, strict=True)
    return np.array(residuals), np.array(covariances), np.array(times)


def nearest_on_edges(points, starts, ends):
    """Nearest edge of each point, the first of equally near ones, how far along it, and the squared distance."""
    vectors = ends - starts
    lengths = (vectors**2).sum(axis=1)
    nearest = np.zeros(len(points), dtype=int), np.zeros(len(points)), np.full(len(points), np.inf)
    for i, point in enumerate(points):
        for e, (start, end, vector, length) in enumerate(zip(starts, ends, vectors, lengths, strict=True)):
            product = reach = squared = 0.0
            for j in range(len(point)):
                product += (point[j] - start[j]) * vector[j]
                reach += vector[j] * vector[j]
            along = min(max(product / length, 0.0), 1.0) if length > 0 else 0.0
            along = 1.0 if product >= reach > 0 else along
            for j in range(len(point)):
                away = point[j] - end[j] if along == 1.0 else point[j] - start[j] - along * vector[j]
                squared += away * away
            if squared < nearest[2][i]:
                nearest[0][i], nearest[1][i], nearest[2][i] = e, along, squared
    return nearest


def donor_scores(y, offset, null, tested, unit, family, phi):
    """What each unit adds to the scores of tested directions: a dense fit with a level for each.

    Weighted columns are made orthogonal to those of the null hypothesis and to those before them, one after another;
    a unit adds the products of its Pearson residuals with the tested ones. The last two that are returned are what the
    error of the other coefficients adds to the covariance of the levels, and what the fit takes of the variances of the
    units' scores.
    """
    import statsmodels.api as sm

    levels = (unit[:, None] == np.unique(unit)).astype(float)
    X = np.hstack([levels, null])
    of = {
        "negative_binomial": lambda: sm.families.NegativeBinomial(alpha=phi),
        "binomial": sm.families.Binomial,
        "gaussian": sm.families.Gaussian,
    }[family]()
    fit = sm.GLM(y, X, family=of, offset=offset).fit(tol=1e-14, tol_criterion="params", maxiter=200)
    *_, slope, weight = glm_terms(y, fit.predict(which="linear"), family, phi)
    root, residual = np.sqrt(weight), slope / np.sqrt(weight)
    Q, R = np.linalg.qr(root[:, None] * np.hstack([X, tested]))
    before, Q = np.split(Q * np.sign(np.diag(R)), [X.shape[1]], axis=1)
    scores = np.array([(Q * residual[:, None])[unit == u].sum(axis=0) for u in np.unique(unit)])
    covariances = np.array([Q[unit == u].T @ Q[unit == u] for u in np.unique(unit)])
    of_levels = np.linalg.inv(X.T @ (weight[:, None] * X))[: levels.shape[1], : levels.shape[1]]
    lost = np.array([((before[unit == u].T @ Q[unit == u]) ** 2).sum(axis=0) for u in np.unique(unit)])
    return scores, covariances, (residual**2).sum(), of_levels - np.diag(1 / (levels.T @ weight)), lost


def glm_terms(y, eta, family, phi):
    """Mean, log-likelihood but for terms of y alone, its slope in eta, and the expected curvature."""
    if family == "negative_binomial":
        mu = np.exp(eta)
        value = y * np.log(mu / (1 + phi * mu)) - np.log1p(phi * mu) / phi
        return mu, value.sum(), (y - mu) / (1 + phi * mu), mu / (1 + phi * mu)
    if family == "binomial":
        mu = 1 / (1 + np.exp(-eta))
        return mu, (y * np.log(mu) + (1 - y) * np.log(1 - mu)).sum(), y - mu, mu * (1 - mu)
    return eta, -((y - eta) ** 2).sum() / 2, y - eta, np.ones(len(y))


def fisher_scoring(y, X, offset, family, phi, start, rounds):
    """Coefficients and log-likelihood at the start and after each round of Fisher scoring."""
    b, history = start, []
    for _ in range(rounds + 1):
        _, value, slope, weight = glm_terms(y, offset + X @ b, family, phi)
        history.append((b, value))
        b = b + np.linalg.solve(X.T @ (weight[:, None] * X), X.T @ slope)
    return history


def weighted_score(y, X, null, tested, weights, offset, family, phi):
    """Share of the squares of Pearson's residuals that weighted directions explain, their kurtosis, and leverages.

    Where there are no more events than coefficients, the squares count at least as the family makes them: one for each
    row beyond those of the null hypothesis. Residuals are those of the fit of the null hypothesis; columns, multiplied
    by the roots of the weights of the rows, are made orthogonal to those before them, one after another (Gram and
    Schmidt).
    """
    import statsmodels.api as sm

    of = {
        "negative_binomial": sm.families.NegativeBinomial(alpha=phi) if phi else None,
        "gaussian": sm.families.Gaussian(),
        "binomial": sm.families.Binomial(),
    }[family]
    fit = sm.GLM(y, X @ null, family=of, offset=offset).fit(tol=1e-14, tol_criterion="params", maxiter=300)
    mean = fit.fittedvalues
    variance = {"negative_binomial": mean * (1 + phi * mean), "gaussian": 1.0, "binomial": mean * (1 - mean)}[family]
    slope = {"negative_binomial": mean, "gaussian": 1.0, "binomial": mean * (1 - mean)}[family]
    residual = (y - mean) / np.sqrt(variance)
    columns = (slope / np.sqrt(variance) * np.ones(len(y)))[:, None] * (X @ np.hstack([null, tested]))
    Q = np.linalg.qr(columns)[0][:, null.shape[1] :]
    squares = (residual**2).sum()
    events = {"negative_binomial": (y > 0).sum(), "binomial": min((y > 0).sum(), (y == 0).sum())}.get(family, np.inf)
    if events <= X.shape[1]:
        squares = max(squares, len(y) - null.shape[1])
    share = (weights * (Q.T @ residual) ** 2).sum() / squares
    return share, len(y) * (residual**4).sum() / squares**2, ((Q**2 @ weights) ** 2).sum()


def unequal_noise(y, X, null, tested, weights):
    """Eigenvalues of the covariance of weighted scores of normal values whose noise may differ from row to row."""
    q = null.shape[1]
    Q = np.linalg.qr(X @ np.hstack([null, tested]))[0]
    variance = (y - Q @ (Q.T @ y)) ** 2 / (1 - (Q**2).sum(axis=1))
    A = Q[:, q:] * np.sqrt(weights)
    return np.linalg.eigvalsh((A.T * variance) @ A)


def smooth_tree(graph, R, points, n_steps):
    """The smooth curves of `smooth_on` without what it does at tips, by differences on a fine grid."""
    ends = np.unique([end for path in graph.branches for end in (path[0], path[-1])])
    longest = max(np.nanmax(graph.distances_from(int(end))) for end in ends)
    a = (0.15 * longest / (2 * np.pi)) ** 4 * R.sum() / graph.edge_length.sum()
    b = 0.01 * longest + a / (0.15 * longest) ** 2
    grids, n = [], len(ends)
    n_fine = 40  # steps of the grid between two nodes
    for path in graph.branches:
        inner = (len(path) - 1) * n_fine - 1
        grids.append(np.r_[np.searchsorted(ends, path[0]), np.arange(n, n + inner), np.searchsorted(ends, path[-1])])
        n += inner
    system, right = np.zeros((n, n)), np.zeros((n, points.shape[1]))
    column = np.zeros(graph.n_nodes, dtype=int)
    for path, grid in zip(graph.branches, grids, strict=True):
        step = graph.edge_length[graph.edges_along(path)] / n_fine
        assert np.ptp(step) < 1e-9  # nodes at equal distances
        first = np.diff(np.eye(len(grid)), axis=0)
        second = np.diff(first, axis=0)
        system[np.ix_(grid, grid)] += b * first.T @ first / step[0] + a * second.T @ second / step[0] ** 3
        column[path] = grid[::n_fine]
    for k in range(graph.n_nodes):
        for i in range(len(points)):
            system[column[k], column[k]] += R[i, k]
            right[column[k]] += R[i, k] * points[i]
    y = np.linalg.solve(system, right)
    courses = np.zeros((len(graph.edges), n_steps + 1, points.shape[1]))
    for path, grid in zip(graph.branches, grids, strict=True):
        for i, e in enumerate(graph.edges_along(path)):
            own = y[grid[i * n_fine : (i + 1) * n_fine + 1 : n_fine // n_steps]]
            courses[e] = own if graph.edges[e, 0] == path[i] else own[::-1]
    return courses


def k_means_nodes(points, n_nodes, rng, rounds):
    """Seeds drawn by squared distances to those before (Arthur and Vassilvitskii 2007), then means."""
    points = np.asarray(points, dtype=float)
    chosen = [int(rng.integers(len(points)))]
    while len(chosen) < n_nodes:
        squared = ((points[:, None] - points[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        reach = np.cumsum(squared)
        if reach[-1] > 0:
            new = min(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")), len(points) - 1)
        else:
            new = min(set(range(len(points))) - set(chosen))
        chosen.append(new)
    nodes = points[chosen]
    for _ in range(rounds):
        nearest = ((points[:, None] - nodes[None]) ** 2).sum(axis=2).argmin(axis=1)
        for k in range(n_nodes):
            if (nearest == k).any():
                nodes[k] = points[nearest == k].mean(axis=0)
    return nodes[np.lexsort(nodes.T[::-1])]


def splitmix(numbers):
    """A number drawn from whole numbers: splitmix64's mixing, one by one."""
    bits = 2**64 - 1
    h = 0x9E3779B97F4A7C15
    for number in numbers:
        h = ((h ^ (number & bits)) + 0x9E3779B97F4A7C15) & bits
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & bits
        h = (h ^ h >> 27) * 0x94D049BB133111EB & bits
        h ^= h >> 31
    return h


def shuffled(points, unit, *more):
    """All rows in order of numbers that are drawn again from those of their coordinates, copies apart."""
    drawn = [splitmix(round(x * 2**20 / unit) for x in point) for point in points.tolist()]
    seen, again = {}, []
    for i in sorted(range(len(points)), key=lambda i: (drawn[i], *points[i], i)):
        occurrence = seen[drawn[i]] = seen.get(drawn[i], -1) + 1
        again.append((splitmix((drawn[i], occurrence, *more)), i))
    return [i for _, i in sorted(again, key=lambda one: one[0])]
