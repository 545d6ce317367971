# Reference outputs of the R package DDRTree for the tests.
#
# Run from the repository root:
#
#     Rscript tests/reference/ddrtree_r.R
#
# which rewrites tests/reference/ddrtree/. A first argument names another output folder.
#
# The stored files were made with R 4.2.2, DDRTree 0.1.5, irlba 2.3.5.1, Matrix 1.5-3 and the
# reference BLAS and LAPACK 3.11.0 on 64-bit Linux (Debian 12 packages r-base-core and
# r-cran-ddrtree). Only base R and DDRTree (which attaches irlba and Matrix) are needed.
#
# File formats are described in README.md beside this script.

suppressPackageStartupMessages(library(DDRTree))
RNGversion("4.2.0")

args <- commandArgs(trailingOnly = TRUE)
root <- if (length(args) > 0) args[1] else file.path("tests", "reference", "ddrtree")

# ---- writing ---------------------------------------------------------------------------------

number <- function(x) trimws(formatC(x, digits = 17, format = "g", mode = "double"))

write_matrix <- function(m, ...) {
  path <- file.path(...)
  dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
  m <- as.matrix(m)
  text <- matrix(number(m), nrow(m), ncol(m))
  writeLines(apply(text, 1, paste, collapse = ","), path)
}

write_params <- function(p, ...) {
  path <- file.path(...)
  dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
  writeLines(paste(names(p), vapply(p, number, ""), sep = ","), path)
}

# The edges of `stree`: i < j counted from 0, and the stored weight (the squared length).
# The structure of the sparse matrix is read, not its values: it holds an explicit zero on the
# diagonal, and an edge between two equal centres would have weight zero as well.
tree_edges <- function(stree, K) {
  i <- stree@i
  j <- rep(seq_len(ncol(stree)) - 1L, diff(stree@p))
  keep <- i < j
  e <- cbind(i[keep], j[keep], stree@x[keep])
  e <- e[order(e[, 1], e[, 2]), , drop = FALSE]
  stopifnot(nrow(e) == K - 1, max(e[, 1:2]) <= K - 1)
  e
}

# ---- data ------------------------------------------------------------------------------------

# Points along straight arms from the origin to the rows of `tips` (counts[a] points on arm a),
# turned into D dimensions by a random orthonormal frame, with Gaussian noise in all of them.
arms <- function(seed, tips, counts, D, noise) {
  set.seed(seed)
  P <- do.call(rbind, lapply(seq_along(counts), function(a) {
    runif(counts[a]) %o% tips[a, ]
  }))
  frame <- qr.Q(qr(matrix(rnorm(D * ncol(tips)), D, ncol(tips))))
  X <- P %*% t(frame) + noise * matrix(rnorm(nrow(P) * D), nrow(P), D)
  X[sample(nrow(X)), , drop = FALSE]
}

centred <- function(X) {
  X <- sweep(X, 2, colMeans(X))
  sweep(X, 2, colMeans(X))
}

unit_variance <- function(X) centred(sweep(X, 2, apply(X, 2, sd), "/"))

# ---- one case --------------------------------------------------------------------------------

# The eigenproblems that DDRTree hands to pca_projection_R, one per call, caught on the way.
seen <- new.env()
catch_pca <- function() seen$C <- c(seen$C, list(get("C", envir = parent.frame())))

# Sine of the largest angle between the column spaces of two orthonormal matrices.
gap <- function(A, B) max(svd(B - A %*% crossprod(A, B))$d)

top <- function(C, d) eigen((C + t(C)) / 2, symmetric = TRUE)$vectors[, seq_len(d), drop = FALSE]

# Largest difference between columns, each up to its sign.
column_gap <- function(A, B) {
  s <- sign(colSums(A * B))
  max(abs(A - sweep(B, 2, s, "*")))
}

ddrtree <- function(X, d, K, sigma, lambda, gamma, m) {
  # tol = -1 cannot be met: exactly m rounds.
  DDRTree(t(X), dimensions = d, maxIter = m, sigma = sigma, lambda = lambda, ncenter = K,
          param.gamma = gamma, tol = -1)
}

make_case <- function(name, X, d, K, sigma, lambda, gamma, rounds) {
  N <- nrow(X)
  cat(sprintf("%s: N=%d D=%d d=%d K=%d\n", name, N, ncol(X), d, if (is.null(K)) N else K))
  write_matrix(X, root, name, "X.csv")
  write_params(list(N = N, D = ncol(X), d = d, K = if (is.null(K)) N else K, sigma = sigma,
                    lambda = if (is.null(lambda)) 5 * N else lambda, gamma = gamma),
               root, name, "params.csv")
  for (m in rounds) {
    seen$C <- list()
    r <- ddrtree(X, d, K, sigma, lambda, gamma, m)
    k <- ncol(r$Y)
    stopifnot(length(r$objective_vals) == m, all(is.finite(r$objective_vals)))
    stopifnot(length(seen$C) == m + 1)   # the start and one per round
    dir <- file.path(root, name, sprintf("iter%d", m))
    write_matrix(r$W, dir, "W.csv")
    write_matrix(t(r$Z), dir, "Z.csv")
    write_matrix(t(r$Y), dir, "Y.csv")
    write_matrix(tree_edges(r$stree, k), dir, "stree.csv")
    write_matrix(r$objective_vals, dir, "objective.csv")
    E <- top(seen$C[[m + 1]], d)
    cat(sprintf("  maxIter=%d rounds=%d  W against eigen(): space %.1e, columns %.1e\n",
                m, length(r$objective_vals), gap(E, r$W), column_gap(E, r$W)))
  }
}

# The compiled code looks pca_projection_R up in the attached package, DDRTree() in the namespace;
# this traces both. It does not change what is computed.
invisible(suppressMessages(trace("pca_projection_R", tracer = catch_pca, print = FALSE)))

# ---- the cases -------------------------------------------------------------------------------

# 1: a noisy Y, every observation a centre, soft assignment.
X1 <- unit_variance(arms(101, rbind(c(-2, 0), c(1.4, 1.2), c(1.2, -0.9)), c(36, 29, 25),
                         D = 6, noise = 0.12))
make_case("case1", X1, d = 2, K = NULL, sigma = 0.05, lambda = nrow(X1) * 0.5, gamma = 10,
          rounds = c(1, 2, 5))

# 2: four arms in three dimensions, fewer centres than observations.
X2 <- unit_variance(arms(202, rbind(c(-2.4, 0, 0), c(1.2, 1.5, 0.2), c(1, -1.3, 0.5),
                                    c(0.2, 0.1, -1.4)), c(36, 30, 28, 26), D = 8, noise = 0.12))
make_case("case2", X2, d = 3, K = 25, sigma = 0.02, lambda = nrow(X2), gamma = 5,
          rounds = c(1, 3))

# Its start, by the calls that DDRTree() makes before the rounds.
X <- t(X2)
W0 <- pca_projection_R(X %*% t(X), 3)
Z0 <- t(W0) %*% X
Y0 <- kmeans(t(Z0), 25, centers = t(Z0)[seq(1, ncol(Z0), length.out = 25), ])$centers
write_matrix(W0, root, "case2", "W0.csv")
write_matrix(t(Z0), root, "case2", "Z0.csv")
write_matrix(Y0, root, "case2", "Y0.csv")
# This is the start: DDRTree's compiled part run from it gives the same numbers.
own <- DDRTree:::DDRTree_reduce_dim(X, Z0, t(Y0), W0, 3, 1, 25, 0.02, nrow(X2), 5, -1, FALSE)
ref <- ddrtree(X2, 3, 25, 0.02, nrow(X2), 5, 1)
stopifnot(identical(own$Z, ref$Z), identical(own$Y, ref$Y), identical(own$W, ref$W))

# 3: the default parameters, almost hard assignment.
X3 <- centred(arms(303, rbind(c(-1.8, 0), c(1.3, 0.8), c(0.9, -1.1)), c(24, 20, 16),
                   D = 5, noise = 0.1))
make_case("case3", X3, d = 2, K = NULL, sigma = 1e-3, lambda = NULL, gamma = 10, rounds = 3)

# ---- how far irlba can be off (printed only) ---------------------------------------------------

# With up to d + 7 columns irlba's working space is the whole space. With more it stops at its own
# tolerance, which shows when the eigenvalues d and d + 1 are close, as under strong noise.
set.seed(404)
for (D in c(6, 8, 20, 50, 200)) for (noise in c(0.3, 1, 3)) {
  frame <- qr.Q(qr(matrix(rnorm(2 * D), D)))
  C <- crossprod(centred(cbind(2 * rnorm(90), rnorm(90)) %*% t(frame) +
                         noise * matrix(rnorm(90 * D), 90)))
  v <- eigen(C, symmetric = TRUE)$values
  cat(sprintf("not stored: D=%d noise=%g eigenvalue ratio %.2f  irlba against eigen(): %.1e\n",
              D, noise, v[3] / v[2], gap(top(C, 2), pca_projection_R(C, 2))))
}

cat(R.version.string, "\n")
for (p in c("DDRTree", "irlba", "Matrix")) cat(p, as.character(packageVersion(p)), "\n")
