"""Cells that many tests begin with; pictures are drawn without a display and closed after each test.

Property tests run a bounded number of examples, the same ones every time; ``HYPOTHESIS_PROFILE=nightly`` draws many
new ones.

Without compilation (``NUMBA_DISABLE_JIT=1``) a test that takes too long is skipped, and the summary names it.
"""

import os
import signal

import hypothesis
import matplotlib
import pytest

from samples import cells
from skeltraj import tl

matplotlib.use("Agg")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as what is started in the background has it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A first call compiles, so that no example has a time limit.
_anyhow = dict(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large]
)
hypothesis.settings.register_profile("quick", max_examples=20, derandomize=True, database=None, **_anyhow)
hypothesis.settings.register_profile("nightly", max_examples=2_000, print_blob=True, **_anyhow)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


_interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
# seconds that a test may take without compilation, and what is made once for many
_LIMITS = {"call": 10, "setup": 120}


def pytest_configure(config):
    """Without compilation numpy warns of numbers that leave their range, of which compiled kernels say nothing."""
    if _interpreted:
        config.addinivalue_line(
            "filterwarnings", r"ignore:.* encountered in (scalar )?(multiply|add|subtract|divide|square|exp|log)"
        )


def _limited(item, phase):
    if not _interpreted:
        return (yield)

    reason = f"{item.nodeid} takes more than {_LIMITS[phase]} s without compilation"
    over = []

    def skip(*_):
        over.append(True)
        pytest.skip(reason)

    signal.signal(signal.SIGALRM, skip)
    signal.alarm(_LIMITS[phase])
    try:
        return (yield)
    except BaseException:
        if over:  # a test that expects another error may have made one of it
            pytest.skip(reason)
        raise
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _limited(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _limited(item, "call"))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def adata():
    """150 cells on three arms, of which nothing has been learned."""
    return cells()


@pytest.fixture(scope="session")
def three_arms():
    """300 cells with a DDRTree in three dimensions, not ordered; to be copied before anything is changed."""
    adata = cells(300, seed=1)
    tl.ddrtree(adata, 3)
    return adata
