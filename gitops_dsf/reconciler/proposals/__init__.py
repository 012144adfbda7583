"""Proposals: what differs between hub and git becomes commits, for people to merge or to refuse.

proposal    a proposal, and the name of its branch
controller  the control loop
checkout    the fleet repository: newest head, its files, our branches
drift       what differs from git, asked of the worker
worker      a process that works changes out on the checkout, by `locks`, `inventory` and `validation`
protocol    what the controller and the worker say to each other
decide      what to do about a proposal (pure)
memory      what a leader remembers between passes; losing it only delays (pure)
branches    one pass with branches and pull requests
direct      one pass with commits on the protected branch
publisher   carries decisions out with git and the forge
message     texts of commits and pull requests

Only git and the forge keep state. A new leader starts from what they hold.
"""
