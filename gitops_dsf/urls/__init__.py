"""Reads URLs: their parts, query APIs of metric stores, git repositories and kinds of hosts.

Nothing here asks a server or resolves a name.
"""
