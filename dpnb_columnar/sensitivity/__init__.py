"""Trimmed moments of confidential columns and their smooth sensitivity: numpy in, numbers out."""

from dpnb_columnar.sensitivity.column import RunLengthColumn, public_size
from dpnb_columnar.sensitivity.mean import mean_smooth_sensitivity
from dpnb_columnar.sensitivity.moments import trimmed_mean, trimmed_variance
from dpnb_columnar.sensitivity.search import raised, searched_beta
from dpnb_columnar.sensitivity.variance import variance_smooth_bound

__all__ = [
    "RunLengthColumn",
    "mean_smooth_sensitivity",
    "public_size",
    "raised",
    "searched_beta",
    "trimmed_mean",
    "trimmed_variance",
    "variance_smooth_bound",
]
