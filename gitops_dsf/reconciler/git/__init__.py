"""The git program for a long-running process: shallow bare clones without a working tree.

clone        a clone: lists branches, reads files of a commit, commits a mapping of paths to bytes, pushes
commit       a commit as `git fast-import` reads it
program      one run of the git program, with limits
credentials  how git gets the secrets of a mounted folder
url          which URLs git accepts
errors       GitError, and its causes

Every controller has a clone of its own (`work_folder`), so that none waits for another.
"""

from gitops_dsf.reconciler.git.clone import Clone, work_folder
from gitops_dsf.reconciler.git.commit import Author
from gitops_dsf.reconciler.git.errors import Cause, GitError

__all__ = ["Author", "Cause", "Clone", "GitError", "work_folder"]
