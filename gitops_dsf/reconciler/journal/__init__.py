"""The journal: each change of a decision becomes a record on a branch (docs/operate/reconciler.md).

explaining   a record with the simulator's explanations and the changed scores, by what the hub holds
branch       which decisions need a record, and the branch: records are appended, nothing is overwritten
flapping     applications that move back and forth: metrics, Events, and what conditions say
controller   the control loop, with its metrics
"""
