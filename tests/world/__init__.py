"""The world: agents, the hub, OCM, Argo CD, git and two replicas of the reconciler in one process,
on one virtual clock, with faults that a seed draws and laws that are checked after every step.

`python -m tests.world --seed 7 --hours 24` runs one world; docs/contributing/world.md explains it.
"""
