"""Which method each estimator fits."""

from __future__ import annotations

from skeltraj import core, estimators

_BY_NAME = {name.replace("_", ""): method for name, method in core.METHODS.items()}
METHOD_OF = {
    getattr(estimators, name): _BY_NAME[name.lower()]
    for name in estimators.__all__
    if name != "TreeLearner"  # which is more than one method
}
