"""The git program for a process that runs for months: shallow, bare, without a working tree, and with
credentials nobody else sees.

`Clone` is what duties use: heads, reading files of a commit, writing a commit from a mapping of paths to
bytes, pushing with a lease. Every duty has a clone of its own in a folder of its own (`folder.work_folder`),
so that none waits for another.
"""

from gitops_dsf.reconciler.git.author import Author
from gitops_dsf.reconciler.git.clone import Clone
from gitops_dsf.reconciler.git.folder import work_folder
from gitops_dsf.reconciler.git.trouble import Cause, GitError

__all__ = ["Author", "Cause", "Clone", "GitError", "work_folder"]
