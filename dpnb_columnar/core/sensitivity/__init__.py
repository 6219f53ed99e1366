"""Trimmed moments of confidential columns and their smooth sensitivity: numpy in, numbers out."""

from dpnb_columnar.core.sensitivity.columns import (
    RunLengthColumn,
    RunLengthColumns,
    chunks,
    end_to_end,
    public_size,
    public_sizes,
)
from dpnb_columnar.core.sensitivity.moments import trimmed_mean, trimmed_means, trimmed_variance, trimmed_variances
from dpnb_columnar.core.sensitivity.search import search_beta, upper_bound
from dpnb_columnar.core.sensitivity.smooth_bounds import (
    mean_smooth_sensitivities,
    mean_smooth_sensitivity,
    variance_smooth_bound,
    variance_smooth_bounds,
)

__all__ = [
    "RunLengthColumn",
    "RunLengthColumns",
    "chunks",
    "end_to_end",
    "mean_smooth_sensitivities",
    "mean_smooth_sensitivity",
    "public_size",
    "public_sizes",
    "search_beta",
    "trimmed_mean",
    "trimmed_means",
    "trimmed_variance",
    "trimmed_variances",
    "upper_bound",
    "variance_smooth_bound",
    "variance_smooth_bounds",
]
