"""Paced moves on the hub: admits moves, carries them out by items, and follows them to their end.

`gitops_dsf.pacing` has the rules, and tells the life of a move. Here is what reads and writes:

    debounce       which decisions count now
    situation      what an admission depends on
    admission      computes an admission when something has changed
    handovers      whether a move is done
    refugeplanner  plans refuges when something has changed
    publisher      writes the items
    report         Events and metrics
    controller     puts them together, in the order that keeps the pace
"""
