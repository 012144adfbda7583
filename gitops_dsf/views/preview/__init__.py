"""Computes what a change of a fleet repository does: which scorers run where, which Placements change, which
applications would move.
"""
