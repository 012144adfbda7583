"""The hub as all controllers share it.

view        the informers of every resource
kinds       what is kept of each kind, and references for Events
scores      AddOnPlacementScores, a few bytes each
configmaps  ConfigMaps that are rendered, and those of the reconciler
decisions   the decision of each Placement, and since when it is unchanged
api         the API client: no write without leadership
"""
