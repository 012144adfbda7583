"""Pull requests and their comments on a forge: proposals of the reconciler, previews of pipelines.

Callers bring their own way to send requests (`Send`), with their token and limits. `forge` has the
common part of all forges, `forges` the differences of each.
"""
