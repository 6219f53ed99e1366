"""The released model and everything computed from it: predictions, queries, files, evaluation. Public."""
