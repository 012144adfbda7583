"""Proposals: differences between hub and git become commits that people merge or refuse.

Only git and the forge keep state: a new leader starts from what they hold.
"""
