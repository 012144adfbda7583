"""Tests of scores: the inputs of a ScoreTest, its results, and its expectations.

A test runs in a repository of its own: this one, with the clusters that the test gives (`fleets`).
`runs` computes the scores that scorers publish, `replay` the decisions of OCM by them, and `judge`
compares both with the expectations. Agents, backtest and simulator compute by the same functions.

Without numpy and without I/O: the metric source of a test is the text in it, and promtool evaluates
queries outside of this package.
"""
