"""Parts of the scikit-learn estimator that do without scikit-learn: declarations, and columns of array-likes."""
