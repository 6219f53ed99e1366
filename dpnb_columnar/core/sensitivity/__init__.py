"""Trimmed moments of confidential columns and their smooth sensitivity: numpy in, numbers out."""

from dpnb_columnar.core.sensitivity.columns import RunLengthColumn as RunLengthColumn
from dpnb_columnar.core.sensitivity.columns import RunLengthColumns as RunLengthColumns
from dpnb_columnar.core.sensitivity.columns import chunks as chunks
from dpnb_columnar.core.sensitivity.columns import end_to_end as end_to_end
from dpnb_columnar.core.sensitivity.columns import public_size as public_size
from dpnb_columnar.core.sensitivity.columns import public_sizes as public_sizes
from dpnb_columnar.core.sensitivity.moments import trimmed_mean as trimmed_mean
from dpnb_columnar.core.sensitivity.moments import trimmed_means as trimmed_means
from dpnb_columnar.core.sensitivity.moments import trimmed_variance as trimmed_variance
from dpnb_columnar.core.sensitivity.moments import trimmed_variances as trimmed_variances
from dpnb_columnar.core.sensitivity.search import search_beta as search_beta
from dpnb_columnar.core.sensitivity.search import upper_bound as upper_bound
from dpnb_columnar.core.sensitivity.smooth_bounds import mean_smooth_sensitivities as mean_smooth_sensitivities
from dpnb_columnar.core.sensitivity.smooth_bounds import mean_smooth_sensitivity as mean_smooth_sensitivity
from dpnb_columnar.core.sensitivity.smooth_bounds import variance_smooth_bound as variance_smooth_bound
from dpnb_columnar.core.sensitivity.smooth_bounds import variance_smooth_bounds as variance_smooth_bounds
