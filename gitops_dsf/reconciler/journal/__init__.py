"""The journal: each change of a decision becomes a record on a branch.

docs/operate/reconciler.md#the-journal explains it to users.
"""
