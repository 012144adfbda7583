"""The state branch: a snapshot of scores, decisions and clusters, for previews without access to the hub
(docs/decisions/preview.md#the-state-branch).

snapshot    the hub as the files of a snapshot, rounded so that they change only when the hub does
controller  the control loop, the branch of the git server, and metrics
"""
