"""Reads a hub, or files that hold what one had.

`files` and `documents` work without the extra `live`, so nothing is imported here.
"""
