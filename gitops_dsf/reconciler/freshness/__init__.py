"""Scores as the hub has them, against where they should be: fresh, about to expire, expired or missing, and
which Placements that hurts.

judge        one scorer's scores at one moment
book         all scorers' judgements, made anew only when something about them changed
placements   clusters that a Placement counts as 0, because the score it ranks by is not there
report       all of that as metrics, and as Events on Placements
"""
