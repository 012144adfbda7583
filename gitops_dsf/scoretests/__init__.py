"""Tests of scores: what a ScoreTest gives, what comes of it, and what it expected.

A test runs in a repository of its own: this one, with the clusters that the test gives (`fleets`).
`runs` computes what scorers publish, `replay` what OCM decides by that, and `judge` compares both
with the expectations. Agents, backtest and simulator compute by the same functions.

Without numpy and without I/O: the metric source of a test is what it writes, and promtool evaluates
queries outside of this package.
"""
