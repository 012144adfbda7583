"""Paced moves: the moves that OCM would make by the scores, begun one after another at a pace.

docs/decisions/paced-moves.md explains them to users. The life of a paced move:

1. **Desired.** By the weights that people wrote OCM would move an application (`desired`). But the
   rendered Placement holds its clusters with a heavy Steady, so nothing happens yet.
2. **Admitted.** `admit` finds that the pace, the cooldown, maintenance and the scores allow it. The
   reconciler writes the move into the ledger, with the resourceVersion that it read. This write is
   the admission: of two leaders that admit at the same time, the API server refuses one.
3. **Carried out.** Only then items are written that draw the Placement to the target, and after
   those the items that push it away from the source (`items`, `publication`). OCM follows within a
   second.
4. **Handover.** OCM has decided for the target. The items go, and the move continues to count until
   the new copy is healthy and the old one is gone (`progress`). If OCM does not follow within a
   minute, the items are taken away, and then the move is forgotten.
5. **Verifying**, if the application asks for it. Both copies stay until the scores of the new
   cluster have decided (`verification`). A move that passed goes on as a handover. One that failed
   ends as Returned, and in the same write a move back begins, which is not verified (`verifier`).
   The application does not go there again for a while (`holds`), and after too many returns no
   move begins at all (`fleetstop`).
6. **Ended.** It does not count any more, but it is remembered while its cooldown lasts, and until
   every score has measured it. Until then its load is assumed (`assumptions`).

After a crash at any point a new leader reads the ledger and continues. A move that was admitted and
has no items yet gets them. Items without an admission cannot exist, because the ledger is written
first. A leader that was frozen and wakes up fails at the version of the ledger, or at its claim on
the Lease.

Not guaranteed: that a move is a gain in the end, because scores change while it is under way; and
the pace of moves that OCM makes by itself, because a cluster was lost. Those are counted as
arrivals.

    desired      the move that OCM would make by the weights that people wrote
    contenders   the desired moves of many Placements, without a simulation of each
    admit        the moves that may begin now, and the reasons why others wait
    ledger       the admitted moves, and the arrivals that OCM decided by itself
    ledgerindex  the moves of a ledger by Placement and by cluster
    progress     the next states of the moves of a ledger
    verification the checks of one move, and whether its old copy may go
    verifier     the consequences of the checks for the moves of a ledger
    holds        clusters that an application does not go to for a while
    fleetstop    the stop of all moves until a person acknowledges it
    assumptions  the load that is assumed until scores have measured it
    refuges      the cluster for each Placement when its own one is lost
    items        the published items that carry moves out
    publication  the order in which the items are written, whatever the hub refuses
    maintenance  the consequences of open windows, and the progress of drains
    stored       the ledger and the queue in the ConfigMap of the hub
    waves        all moves of a hub, one admission after the other, for previews

Everything here is pure: the reconciler, previews, the simulator and the backtest call the same
functions.
"""
