"""Suspension: agents do not call a scoring API that is down (docs/operate/reconciler.md#suspension). Off by
default.

quorum          on how many clusters the scores of a scorer are stale
circuitbreaker  decides which scores are suspended
configmap       the ConfigMap that agents read the suspended scores from
controller      the control loop, with its metrics
"""
