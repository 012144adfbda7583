"""The git program for a long-running process: shallow clones with only the files that were asked for.

clone        lists branches, checks one out, commits files, and pushes with a lease
credentials  how git gets the secrets of a mounted folder, and which URLs it accepts

Every controller has a clone of its own (`working_clone`), so that none waits for another.
"""
