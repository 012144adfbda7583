"""Reads a hub, or files that hold what one had.

`files` works without the extra `live`, so nothing is imported here.
"""
