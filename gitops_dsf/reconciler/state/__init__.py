"""Duty: a snapshot of scores, decisions and clusters on a branch, for previews that have no access to the hub
(docs/preview.md).
"""
