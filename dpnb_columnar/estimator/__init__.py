"""What the scikit-learn estimator is made of, without scikit-learn: its declarations, and columns from array-likes."""
