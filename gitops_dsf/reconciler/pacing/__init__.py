"""Paced moves on the hub: admits moves, carries them out by items, and follows them to their end.

`gitops_dsf.pacing` has the rules, and describes the life of a move. Here is what reads and writes:

    debounce        decisions that have settled
    situation       the inputs of an admission
    admission       computes an admission when something has changed
    handovers       whether a move is done
    verifiedscores  the scores by which verified moves are judged
    refugeplanner   plans refuges when something has changed
    publisher       writes the items
    report          Events and metrics
    controller      puts them together, in the order that keeps the pace
"""
