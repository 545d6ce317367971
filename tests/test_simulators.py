"""The simulators of benchmarks/: fixed by their seed, a truth of the right shape, nuisances that do one thing."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("benchmarks/ is not part of the source distribution", allow_module_level=True)

NAMES = ["walks", "paths", "network"]
SMALL = dict(n_cells=150, n_genes=80, seed=3)


@pytest.fixture(scope="module")
def parts():
    """The modules of the folder of simulators, by name; nothing of them stays behind."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    from simulators import cells, network, network_model, network_tree, nuisances, paths, random_trees, sets, walks

    yield {
        module.__name__.split(".")[-1]: module
        for module in (cells, network, network_model, network_tree, nuisances, paths, random_trees, sets, walks)
    }
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "simulators":
            del sys.modules[name]


@pytest.fixture(scope="module")
def drawn(parts):
    """Small sets, drawn once each: ``drawn(name, nuisances, **options)``."""
    pytest.importorskip("scanpy")
    made = {}

    def draw(name, options=(), **nuisances):
        which = (name, tuple(sorted(dict(options).items())), tuple(sorted(nuisances.items())))
        if which not in made:
            strengths = parts["nuisances"].Nuisances(**nuisances)
            made[which] = getattr(parts[name], name)(**(SMALL | dict(options)), nuisances=strengths)
        return made[which]

    return draw


def counts_of(cells):
    return cells.layers["counts"].toarray()


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_counts(drawn, name):
    cells = drawn(name)
    counts = counts_of(cells)
    assert cells.shape == (150, 80)
    assert (counts == np.round(counts)).all()
    assert counts.min() == 0
    assert 0.2 < counts.mean() < 30
    np.testing.assert_array_equal(cells.X.toarray(), counts)


@pytest.mark.parametrize("name", NAMES)
def test_truth_is_a_tree_with_cells_on_it(drawn, name):
    cells = drawn(name)
    truth = cells.uns["truth"]
    edges = list(zip(truth["from"], truth["to"], strict=True))
    known = {edges[0][0]}
    for parent, child in edges:  # each edge begins where another ended, at a place that is new: no cycle
        assert parent in known
        assert child not in known
        known.add(child)
    assert sorted(known) == truth["milestones"].tolist()
    assert truth["length"].shape == (len(edges),)
    assert (truth["length"] > 0).all()
    assert truth["edge"].shape == truth["fraction"].shape == truth["pseudotime"].shape == (150,)
    assert set(truth["edge"]) == set(range(len(edges)))
    assert (truth["fraction"] >= 0).all()
    assert (truth["fraction"] <= 1).all()
    shares = truth["milestone_percentages"]
    assert shares.shape == (150, len(known))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for cell in (0, 71):
        parent, child = edges[truth["edge"][cell]]
        assert shares[cell, truth["milestones"] == child] == pytest.approx(truth["fraction"][cell])
        before = truth["pseudotime"][cell] - truth["fraction"][cell] * truth["length"][truth["edge"][cell]]
        assert before == pytest.approx(depth_of(parent, edges, truth["length"]))
    assert truth["start_cell"] == truth["pseudotime"].argmin()
    np.testing.assert_array_equal(cells.obs["true_pseudotime"], truth["pseudotime"])


def depth_of(node, edges, lengths):
    above = [(parent, length) for (parent, child), length in zip(edges, lengths, strict=True) if child == node]
    return above[0][1] + depth_of(above[0][0], edges, lengths) if above else 0.0


@pytest.mark.parametrize("name", NAMES)
def test_fixed_by_the_seed(drawn, parts, name):
    again = getattr(parts[name], name)(**SMALL)
    other = getattr(parts[name], name)(**SMALL | dict(seed=4))
    np.testing.assert_array_equal(counts_of(again), counts_of(drawn(name)))
    np.testing.assert_array_equal(again.uns["truth"]["pseudotime"], drawn(name).uns["truth"]["pseudotime"])
    assert (counts_of(other) != counts_of(again)).any()


@pytest.mark.parametrize("nuisance", [dict(cycle=1.0), dict(batch=1.0), dict(dropout=0.0)], ids=lambda n: next(iter(n)))
@pytest.mark.parametrize("name", NAMES)
def test_nuisances_leave_the_truth_alone(drawn, name, nuisance):
    plain, disturbed = drawn(name), drawn(name, **nuisance)
    for key, value in plain.uns["truth"].items():
        np.testing.assert_array_equal(disturbed.uns["truth"][key], value)
    assert (counts_of(plain) != counts_of(disturbed)).any()


def explained(values, by):
    """Share of the variance of each column that columns of ``by`` explain."""
    by = np.column_stack([np.ones(len(by)), by])
    rest = values - by @ np.linalg.lstsq(by, values, rcond=None)[0]
    return 1 - rest.var(axis=0) / np.maximum(values.var(axis=0), 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_cycle_moves_a_share_of_the_genes_with_the_phase(drawn, name):
    phase = drawn(name).obs["true_phase"].to_numpy()
    circle = np.column_stack([np.cos(phase), np.sin(phase)])
    of_plain, of_cycling = (
        explained(np.log1p(counts_of(drawn(name, **nuisance))), circle) for nuisance in ({}, dict(cycle=1.0))
    )
    assert of_plain.max() < 0.15
    assert 0.02 < (of_cycling > 0.2).mean() < 0.35  # 15 % of the genes; those that are hardly there do not show it


@pytest.mark.parametrize("name", NAMES)
def test_batches_shift_all_genes(drawn, name):
    batch = (drawn(name).obs["batch"] == "1").to_numpy(float)[:, None]
    assert 0.35 < batch.mean() < 0.65
    of_plain, of_batches = (
        explained(np.log1p(counts_of(drawn(name, **nuisance))), batch) for nuisance in ({}, dict(batch=1.0))
    )
    assert of_plain.mean() < 0.02
    assert of_batches.mean() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_dropout_only_makes_zeros(drawn, name):
    plain, less = counts_of(drawn(name)), counts_of(drawn(name, dropout=0.0))
    assert (less[less > 0] == plain[less > 0]).all()
    assert (less > 0).sum() < 0.9 * (plain > 0).sum()


def test_dropout_at_its_middle(parts):
    counts, mean = np.ones((2000, 3)), np.full((2000, 3), np.exp([-4.0, 0.5, 5.0]))
    rng = np.random.default_rng(0)
    kept = parts["nuisances"].dropped_out(counts, mean, 0.5, rng).mean(axis=0)
    np.testing.assert_allclose(kept, 1 / (1 + np.exp([4.5, 0.0, -4.5])), atol=0.04)
    assert parts["nuisances"].dropped_out(counts, mean, None, rng) is counts


@pytest.mark.parametrize("name", ["walks", "paths"])
@pytest.mark.parametrize("forks", [0, 3])
def test_forks(drawn, name, forks):
    truth = drawn(name, dict(n_forks=forks)).uns["truth"]
    _, outgoing = np.unique(truth["from"], return_counts=True)
    assert (outgoing > 1).sum() == forks
    assert outgoing.max() <= 3


def test_uneven_branches(parts):
    def spread(uneven):
        shares = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            tree = parts["random_trees"].random_tree(3, rng)
            places = parts["random_trees"].cells_on(tree, 4000, rng, uneven=uneven)
            shares.append(np.bincount(places.edge, minlength=len(tree.edges)) / 4000 / tree.lengths)
        return np.mean([np.log(share).std() for share in shares])

    assert spread(False) < 0.5
    assert spread(True) > 0.6


def test_values_along_edges(parts):
    courses = [np.array([[0.0], [1.0], [4.0]]), np.array([[4.0], [8.0]])]
    places = parts["random_trees"].Places(np.array([0, 0, 0, 1, 0]), np.array([0.0, 0.25, 0.75, 0.5, 1.0]))
    values = parts["random_trees"].along_edges(courses, places)
    np.testing.assert_allclose(values[:, 0], [0.0, 0.5, 2.5, 6.0, 4.0])


def test_programmes_are_continuous_at_forks(parts):
    tree = parts["random_trees"].random_tree(3, np.random.default_rng(1))
    courses = parts["walks"]._courses(tree, 4, np.random.default_rng(2))
    ends = {child: course[-1] for (_, child), course in zip(tree.edges, courses, strict=True)}
    for (parent, _), course in zip(tree.edges[1:], courses[1:], strict=True):
        np.testing.assert_array_equal(course[0], ends[parent])
        assert np.abs(np.diff(course, axis=0)).max() < 0.15


def test_paths_lead_from_type_to_type(parts):
    rng = np.random.default_rng(0)
    start, end = rng.gamma(2, 1, 500), rng.gamma(2, 1, 500)
    course = parts["paths"]._course(start, end, rng)
    np.testing.assert_allclose(course[0], start)
    np.testing.assert_allclose(course[-1], end)
    straight = np.abs(course[50] - (start + end) / 2) < 1e-9
    assert 0.85 < straight.mean() < 0.95
    assert (course > 0).all()


@pytest.mark.filterwarnings("ignore")  # scanpy's reader leaves its file open
def test_network_is_that_of_scanpy(parts, tmp_path):
    scanpy = pytest.importorskip("scanpy")
    run = scanpy.tl.sim("krumsiek11", tmax=60, branching=False, nrRealizations=1, noiseDyn=0, seed=0, writedir=tmp_path)
    network = parts["network_model"].model()
    assert list(run.var_names) == list(network.genes)
    state = np.asarray(run.X[:1], float)
    for there in run.X[1:]:
        for _ in range(5):  # it keeps every fifth step
            state = state + parts["network_model"].change(network, state)
        np.testing.assert_allclose(state[0], there, atol=2e-3)  # the file is rounded
    assert np.abs(run.X[-1] - run.X[0]).max() > 0.3


def test_network_reaches_its_four_fates(parts):
    pytest.importorskip("scanpy")
    courses = parts["network_model"].runs(120, np.random.default_rng(0), noise=0.003)
    fate, kept = parts["network_tree"].fates(courses)
    assert set(fate[kept]) == {0, 1, 2, 3}
    assert kept.mean() > 0.5
    genes = parts["network_model"].model().genes
    for f, gene in enumerate(parts["network_model"].TIPS.values()):
        own, other = (courses[kept & same, -1, genes.index(gene)] for same in (fate == f, fate != f))
        assert own.min() > other.max()


def test_fates_part_when_their_runs_do(parts):
    """Straight courses: two fates leave the third at step 20 and one another at step 60."""
    rng, t = np.random.default_rng(0), np.arange(101.0)
    trunk, early, late = t / 100, np.maximum(t - 20, 0) / 100, np.maximum(t - 60, 0) / 100
    means = [np.column_stack([trunk, early, late]), np.column_stack([trunk, early, -late])]
    means.append(np.column_stack([trunk, -early, 0 * t]))
    fate = np.repeat([0, 1, 2], 40)
    courses = np.stack([means[f] for f in fate]) + 0.005 * rng.standard_normal((120, 101, 3))
    tree, drawn_through, ways = parts["network_tree"].parted(courses, fate)
    tips = list(parts["network_model"].TIPS)
    assert [child for _, child in tree.edges if child in tips] == [tips[2], tips[0], tips[1]]
    first, second = (
        next(i for i, edge in enumerate(tree.edges) if edge[0] == fork)
        for fork in [tree.edges[0][1], next(p for p, c in tree.edges if c == tips[0])]
    )
    assert drawn_through[first][0, 0] == pytest.approx(0.2, abs=0.05)
    assert drawn_through[second][0, 0] == pytest.approx(0.6, abs=0.05)
    assert [len(ways[f]) for f in range(3)] == [3, 3, 2]
    at = parts["network_tree"].located(courses, fate, drawn_through, ways)
    assert set(at.edge[:101]) == set(ways[0])
    depth = np.array([depth_of(parent, tree.edges, tree.lengths) for parent, _ in tree.edges])[at.edge]
    depth = (depth + at.fraction * tree.lengths[at.edge]).reshape(120, 101)
    assert np.corrcoef(depth.mean(axis=0), t)[0, 1] > 0.99


def test_sets_have_names_and_seeds_of_their_own(parts, monkeypatch):
    sets = parts["sets"]
    seeds = []
    monkeypatch.setattr(sets, "SETS", {name: lambda seed: seeds.append(seed) for name in sets.SETS})
    for name in sets.SETS:
        sets.drawn(name, 9000)
    assert len(set(seeds)) == len(seeds)
    assert seeds[0] == 9400
    assert len({name.split()[0] for name in sets.SETS}) >= 4
