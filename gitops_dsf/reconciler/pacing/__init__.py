"""Paced moves on the hub: admits moves, carries them out by items, and follows them to their end
(docs/decisions/paced-moves.md).

The ledger is one ConfigMap. It is written before any item, with the resourceVersion that was read, so the
pace holds whatever process dies or is frozen when.
"""
