"""Reads a repository at a revision from git objects. The working tree, the index and the refs are not
touched.
"""

from gitops_dsf.repository.revision.archive import Branch, checkout, find_branch, paths_at
from gitops_dsf.repository.revision.base import Base, find_base
from gitops_dsf.repository.revision.git import RevisionError

__all__ = ["Base", "Branch", "RevisionError", "checkout", "find_base", "find_branch", "paths_at"]
