"""Proposals: what differs between hub and git becomes commits, for people to merge or to refuse.

controller  the control loop: one branch, and one pull request, for each kind of change
worker      a process that makes a change in the working tree
message     texts of commits and pull requests

Only git and the forge keep state. A new leader starts from what they hold.
"""
