"""Asks Argo CD to look at a decision when it changed, and not at its next poll.

debounce    which ApplicationSets should be refreshed now (pure)
controller  the control loop, with its metrics
"""
