"""Queries the metric source of a scorer."""
