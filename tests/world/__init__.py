"""The whole system in one process, on one virtual clock.

Agents, the hub, OCM, Argo CD, git and two replicas of the reconciler, with faults that a seed draws
and laws that are checked after every step.

`python -m tests.world --seed 7 --hours 24` runs one world; docs/contributing/world.md explains it.
"""
