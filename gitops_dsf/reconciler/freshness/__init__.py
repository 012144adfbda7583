"""Freshness of scores: where they are fresh, about to expire, expired or missing, and which Placements count
clusters as 0 for that.

assessment   one scorer's scores at one moment, and the condition Scored
report       all of that as metrics, and as Events on Placements
"""
