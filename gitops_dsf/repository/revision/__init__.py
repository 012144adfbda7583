"""Reads a repository at a revision from git objects.

Working tree, index and refs are not touched, except by `fetch_branch`, which adds a branch of a
remote. So a preview of a pull request changes nothing for the person or the job that runs it.
"""
