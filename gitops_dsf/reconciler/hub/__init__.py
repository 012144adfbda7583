"""The hub as the reconciler sees it: requests (`api`), resources kept in memory (`view`), and what is kept of
each kind.
"""
