"""Paced moves on the hub: admits moves, carries them out by items, and follows them to their end
(docs/decisions/paced-moves.md).

progress    how far each move of the ledger is, by what the hub shows (pure)
situation   reads what an admission depends on
refuges     when refuges are planned again
publisher   writes the AddOnPlacementScores `gitops-dsf-moves`
controller  the control loop, with its Events and metrics

The ledger is one ConfigMap. It is written before any item, with the resourceVersion that was read, so the
pace holds whatever process dies or is frozen when.
"""
