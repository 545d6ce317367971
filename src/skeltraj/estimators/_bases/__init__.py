"""What the estimators share: from the result of a function of `skeltraj.core` to an estimator of scikit-learn."""
