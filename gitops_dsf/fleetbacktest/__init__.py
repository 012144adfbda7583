"""Backtests a fleet repository: histories that its revisions need, their comparison, and advice.

`comparison` is the entry: it says what to ask a metric store, takes the answers page by page, and
gives the decisions of one or two revisions. It does no I/O. `gitops_dsf.backtest` computes the
decisions; `gitops_dsf.show.backtest` puts them into words.
"""
