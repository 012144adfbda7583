"""Reads a hub, or files that hold what one had.

Without the extra `live`, `files` can be imported.
"""
