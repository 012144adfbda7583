"""Paced moves: which moves that OCM would make by the scores may begin now
(docs/decisions/paced-moves.md).

ledger   the moves that were admitted, the arrivals that nobody admitted, and the load that is assumed of them
desired  where OCM would move a Placement by the weights that people wrote
admit    which of these moves may begin, and what the others wait for
refuges  where a Placement goes when its cluster is lost; the published items that carry moves out
publication  in which order the items are written, whatever the hub refuses
maintenance  what open windows of maintenance mean, and how far drains are
stored   the ledger and the queue in the ConfigMap of the hub
waves    all moves of a hub, one admission after the other, for previews

Everything here is pure: the reconciler, previews, the simulator and the backtest call the same functions.
"""
