import anndata as ad
import numpy as np
import pytest
from sklearn.datasets import make_moons

from skeltraj import datasets
from stored import equal, same

# name -> (n_obs, n_features) by default
SIZES = {
    "circle": (100, 2),
    "distorted_s": (100, 2),
    "helix": (600, 3),
    "noisy_rings": (400, 500),
    "spiral": (200, 2),
    "three_clusters": (300, 2),
    "twin_peaks": (600, 3),
    "two_moons": (400, 2),
    "zigzag": (200, 2),
}
every_shape = pytest.mark.parametrize("simulate", [getattr(datasets, name) for name in SIZES], ids=list(SIZES))


# --- the shapes, without noise: every point computed again from its truth ---------------------------------------------


def exact(name, **options):
    adata = getattr(datasets, name)(noise=0, **options)
    return adata.X, adata.obs


def again(X, rows):
    np.testing.assert_allclose(X, np.array(rows), rtol=0, atol=1e-12)


def test_circle():
    X, obs = exact("circle")
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-12)
    turn = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) % 1
    np.testing.assert_allclose(turn, obs["place"], atol=1e-12)


def test_distorted_s():
    X, obs = exact("distorted_s", n_obs=200)
    # two half circles of radius 1 about (0, 1) and (0, -1), after the distortion is taken back
    x, y = np.linalg.solve([[1.2, 0.5], [-0.4, 0.6]], X.T)
    upper = obs["place"].to_numpy() < 0.5
    np.testing.assert_allclose(np.hypot(x, y - np.where(upper, 1, -1)), 1, atol=1e-12)
    assert (x[upper] <= 0).all()
    assert (x[~upper] >= 0).all()
    # from top to bottom, at an even pace along the S
    order = np.argsort(obs["place"].to_numpy())
    assert (np.diff(y[order]) < 0).all()
    height = np.where(upper, 1 + np.cos(2 * np.pi * obs["place"]), -1 - np.cos(2 * np.pi * obs["place"]))
    np.testing.assert_allclose(y, height, atol=1e-12)


def test_helix():
    X, obs = exact("helix")
    angles = [2 * np.pi * p for p in obs["place"]]
    again(X, [[(2 + np.cos(8 * t)) * np.cos(t), (2 + np.cos(8 * t)) * np.sin(t), np.sin(8 * t)] for t in angles])


@pytest.mark.parametrize("name", ["circle", "helix"])
def test_closed_curves_close(name):
    X, obs = exact(name, n_obs=5000)
    first, last = obs["place"].argmin(), obs["place"].argmax()
    assert obs["place"].iloc[first] < 0.001
    assert obs["place"].iloc[last] > 0.999
    assert np.linalg.norm(X[first] - X[last]) < 0.1 < np.linalg.norm(X - X[first], axis=1).max() / 10


def test_two_moons():
    X, obs = exact("two_moons", n_obs=401)
    rows = []
    for p, moon in zip(obs["place"], obs["part"], strict=True):
        c, s = np.cos(np.pi * p), np.sin(np.pi * p)
        rows.append([c, s] if moon == "upper" else [1 - c, 0.5 - s])
    again(X, rows)
    assert obs["part"].value_counts().to_dict() == {"upper": 201, "lower": 200}


def test_two_moons_are_those_of_scikit_learn():
    theirs, label = make_moons(2000)
    X, obs = exact("two_moons")
    for i, moon in enumerate(["upper", "lower"]):
        distance = np.linalg.norm(X[obs["part"] == moon][:, None] - theirs[label == i], axis=2).min(axis=1)
        assert distance.max() < np.pi / 1000


def test_twin_peaks():
    X, obs = exact("twin_peaks")
    again(
        X, [[1 - 2 * p, 1 - 2 * q, np.sin(np.pi * (1 - 2 * p)) * np.tanh(3 * (1 - 2 * q))] for p, q in obs.to_numpy()]
    )
    assert abs(obs.corr().loc["p", "q"]) < 0.1


def test_noisy_rings():
    X, obs = exact("noisy_rings", n_obs=120, n_features=40)
    again(obs["place"], [i / 120 for i in range(120)])
    assert X.shape == (120, 40)
    assert X.min() >= 0
    assert X.max() <= 1
    # every feature is a wave of the first three harmonics about 1/2
    spectrum = np.fft.rfft(X - 0.5, axis=0) / 60
    np.testing.assert_allclose(spectrum[[0, *range(4, 61)]], 0, atol=1e-12)
    np.testing.assert_allclose(np.abs(spectrum[1:4]).sum(axis=0), 0.5, atol=1e-12)
    # a ring: the nearest other points are the neighbours in the turn, the last one's is the first
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    nearest = np.argsort(distance, axis=1)[:, 1:3]
    assert [set(row) for row in nearest] == [{(i - 1) % 120, (i + 1) % 120} for i in range(120)]


def test_the_same_ring_whatever_the_number_of_points():
    few, many = exact("noisy_rings", n_obs=10)[0], exact("noisy_rings", n_obs=30)[0]
    np.testing.assert_allclose(few, many[::3], atol=1e-12)


def test_spiral():
    X, obs = exact("spiral")
    again(X, [[p**0.5 * np.cos(4 * np.pi * p**0.5), p**0.5 * np.sin(4 * np.pi * p**0.5)] for p in obs["place"]])


def test_zigzag():
    X, obs = exact("zigzag")
    again(X, [[4 * p, 1 - abs(4 * p % 2 - 1)] for p in obs["place"]])


def test_three_clusters():
    X, obs = exact("three_clusters", n_obs=301)
    centre = {"first": (-1, 0), "second": (0, 3**0.5), "third": (1, 0)}
    place = {"first": 0, "second": 0.5, "third": 1}
    for part in centre:
        again(X[obs["part"] == part], [centre[part]] * (obs["part"] == part).sum())
        assert (obs["place"][obs["part"] == part] == place[part]).all()
    # along the two sides of the triangle: height and width follow from the place alone
    again(X, [[2 * p - 1, 3**0.5 * (1 - abs(2 * p - 1))] for p in obs["place"]])
    assert obs["part"].value_counts()[["first", "second", "third", "bridge"]].tolist() == [91, 90, 90, 30]
    bridge = obs["place"][obs["part"] == "bridge"]
    assert (bridge < 0.5).sum() == (bridge > 0.5).sum() == 15


@pytest.mark.parametrize("name", ["circle", "distorted_s", "helix", "spiral", "two_moons", "zigzag"])
def test_places_are_uniform(name):
    place = np.sort(exact(name, n_obs=4000)[1]["place"])
    assert np.abs(place - np.arange(4000) / 4000).max() < 0.03


# --- noise ------------------------------------------------------------------------------------------------------------


def added(name, noise, **options):
    """What noise adds to the points, which are the same with and without."""
    noisy = getattr(datasets, name)(noise=noise, **options)
    equal(noisy.obs, getattr(datasets, name)(noise=0, **options).obs)
    return noisy.X - exact(name, **options)[0]


@pytest.mark.parametrize("name", sorted(set(SIZES) - {"noisy_rings", "distorted_s"}))
def test_noise_is_normal_and_of_the_size_said(name):
    noise = added(name, 0.3, n_obs=5000)
    np.testing.assert_allclose(np.cov(noise.T), 0.09 * np.eye(noise.shape[1]), atol=0.006)
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose((np.abs(noise) < 0.3).mean(), 0.6827, atol=0.02)


def test_noise_of_the_distorted_s_is_distorted_too():
    noise = added("distorted_s", 0.3, n_obs=5000)
    distortion = np.array([[1.2, 0.5], [-0.4, 0.6]])
    np.testing.assert_allclose(np.cov(noise.T), 0.09 * distortion @ distortion.T, atol=0.01)
    spread = np.sqrt(np.linalg.eigvalsh(distortion @ distortion.T))
    np.testing.assert_allclose(spread, [0.70, 1.31], atol=0.005)  # as documented


def test_noise_of_the_rings_is_uniform_and_only_adds():
    noise = added("noisy_rings", 0.4)
    assert noise.min() > -1e-12
    assert noise.max() < 0.4 + 1e-12
    np.testing.assert_allclose(np.quantile(noise, [0.25, 0.5, 0.75]), [0.1, 0.2, 0.3], atol=0.005)


# --- what all have in common ------------------------------------------------------------------------------------------


def test_all_are_exported():
    assert set(SIZES) <= set(datasets.__all__)
    assert set(datasets.__all__) - set(SIZES) == {"metabric", "tcga_brca"}


@every_shape
@pytest.mark.parametrize("n_obs", [3, 10, 57, 58])
def test_as_many_points_as_asked_for(simulate, n_obs):
    adata = simulate(n_obs)
    assert adata.shape == (n_obs, SIZES[simulate.__name__][1])
    assert adata.X.dtype == np.float64
    assert np.isfinite(adata.X).all()
    assert adata.obs_names.is_unique
    assert adata.var_names.is_unique
    for column in set(adata.obs) - {"part"}:
        assert adata.obs[column].between(0, 1).all()


@every_shape
def test_sizes_by_default(simulate):
    adata = simulate()
    assert adata.shape == SIZES[simulate.__name__]
    assert set(adata.obs) == {
        "twin_peaks": {"p", "q"},
        "two_moons": {"place", "part"},
        "three_clusters": {"place", "part"},
    }.get(simulate.__name__, {"place"})


@every_shape
def test_seeds(simulate):
    first = simulate(60, noise=0.2, rng=7)
    same(simulate(60, noise=0.2, rng=7), first)
    generator = np.random.default_rng(7)
    from_generator = simulate(60, noise=0.2, rng=generator)
    np.testing.assert_array_equal(from_generator.X, first.X)
    for other in (simulate(60, noise=0.2, rng=8), simulate(60, noise=0.2, rng=generator)):
        assert np.abs(other.X - first.X).max() > 0.1
    same(simulate(rng=0), simulate())


@every_shape
def test_how_it_was_made(simulate):
    name = simulate.__name__
    assert simulate(5, noise=0.25, rng=3).uns == {"simulation": {"shape": name, "noise": 0.25, "rng": 3}}
    made = simulate(5, noise=0, rng=np.random.default_rng(3)).uns
    assert made == {"simulation": {"shape": name, "noise": 0.0}}


@every_shape
def test_round_trip(simulate, tmp_path):
    adata = simulate(21)
    adata.write_h5ad(tmp_path / "a.h5ad")
    same(ad.read_h5ad(tmp_path / "a.h5ad"), adata)


@every_shape
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_obs": 2}, ValueError, "n_obs=2 is out of range; wanted a whole number from 3 to"),
        ({"n_obs": 10.0}, TypeError, "n_obs=10.0 is a float; wanted a whole number from 3 to"),
        ({"noise": -0.1}, ValueError, "noise=-0.1 is out of range; wanted a number >= 0"),
        ({"noise": np.nan}, ValueError, "noise=nan is out of range; wanted a number >= 0"),
        ({"noise": np.inf}, ValueError, "noise=inf is out of range; wanted a number >= 0"),
        ({"noise": "much"}, TypeError, "noise='much' is a str; wanted a number >= 0"),
        ({"rng": -1}, ValueError, "rng=-1 is out of range; wanted a whole number from 0 up"),
        ({"rng": None}, TypeError, "rng=None is a NoneType; wanted a whole number from 0 up"),
    ],
)
def test_bad_values(simulate, options, error, words):
    with pytest.raises(error, match=words):
        simulate(**options)


@pytest.mark.parametrize("value", [2, 0, -5])
def test_a_ring_needs_three_features(value):
    with pytest.raises(ValueError, match=f"n_features={value} is out of range; wanted a whole number from 3 to"):
        datasets.noisy_rings(n_features=value)
