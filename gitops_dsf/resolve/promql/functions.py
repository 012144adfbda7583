"""The words of PromQL: its functions, to suggest for misspelt ones, aggregations and binary operators. The
native parser decides which functions exist.
"""

from typing import Final

RENAMED: Final = {"holt_winters": "double_exponential_smoothing"}
"""Functions of Prometheus 2, and what they are called since Prometheus 3."""

_FUNCTIONS: Final = """
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes clamp
    clamp_max clamp_min cos cosh count_over_time day_of_month day_of_week day_of_year days_in_month deg
    delta deriv double_exponential_smoothing end exp first_over_time floor histogram_avg histogram_count
    histogram_fraction histogram_quantile histogram_quantiles histogram_stddev histogram_stdvar
    histogram_sum hour idelta increase info integral irate label_join label_replace last_over_time ln
    log10 log2 mad_over_time max_over_time min_over_time minute month pi predict_linear present_over_time
    quantile_over_time rad range rate resets round scalar sgn sin sinh sort sort_by_label
    sort_by_label_desc sort_desc sqrt start stddev_over_time stdvar_over_time step sum_over_time tan tanh
    time timestamp ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time ts_of_min_over_time
    vector year
"""
FUNCTIONS: Final = frozenset(_FUNCTIONS.split())

_AGGREGATIONS: Final = """
    sum avg count min max group stddev stdvar topk bottomk count_values quantile limitk limit_ratio
"""
AGGREGATIONS: Final = frozenset(_AGGREGATIONS.split())
BINARY: Final = frozenset(
    ["+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "unless", "atan2"]
)
