"""Suspension: agents do not call a scoring API that is down (docs/operate/reconciler.md#suspension). Off by
default.

circuitbreaker  decides which scores are suspended
configmap       the ConfigMap that agents read the suspended scores from
controller      the control loop, with its metrics
"""
