"""Proposals: what differs between hub and git becomes commits, for people to merge or to refuse.

Only git and the forge keep state: a new leader starts from what they hold.
"""
