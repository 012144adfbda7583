"""The status of every DynamicScorer: health of its scoring API, /config against the accepted settings, and
freshness of its scores.

probes      asks all scoring APIs, and remembers the results between rounds
status      the desired status, the patch that leads there, and Events and metrics about both
controller  the control loops
"""
