"""The git program for a long-running process. Every controller has a clone of its own (`working_clone`), so
that none waits for another.
"""
