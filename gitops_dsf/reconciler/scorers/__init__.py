"""The status of every DynamicScorer: health of its scoring API, /config against the accepted settings, and
freshness of its scores.

health       whether a scoring API is healthy, by probes in a row
configsync   whether /config still says what was accepted
prober       asks all scoring APIs, and remembers the results between rounds
status       the desired status, and the patch that leads there
writer       writes statuses, and Events about changed conditions
controller   the control loops
"""
