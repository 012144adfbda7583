"""Pull requests and their comments on a forge: proposals of the reconciler, previews of pipelines.

Callers bring their own way to send requests (`Send`), with their token and limits. `forge` has what
all forges have in common, `forges` what each does otherwise.
"""
