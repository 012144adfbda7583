"""A repository as it was at a revision, read from git objects: the working tree, the index and the refs are
never touched.
"""

from gitops_dsf.repository.revision.base import Base, find_base
from gitops_dsf.repository.revision.branch import Branch, find_branch
from gitops_dsf.repository.revision.checkout import checkout, sources
from gitops_dsf.repository.revision.git import RevisionError

__all__ = ["Base", "Branch", "RevisionError", "checkout", "find_base", "find_branch", "sources"]
