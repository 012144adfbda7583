"""Compares the sources that git has with those that the reader sees.

A file that is missing on disk must not look like a file that was removed: the next render would
remove its clusters from the hub. Git's index distinguishes the two: `git rm` takes a file out of
it, while a sparse checkout, an unfilled submodule, or a lost file leave it there.
"""
