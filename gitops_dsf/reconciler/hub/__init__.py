"""The hub as all controllers share it.

view        the informers of every resource
kinds       what is kept of each kind, of scores a few bytes each, and references for Events
configmaps  ConfigMaps that are rendered, and those of the reconciler
decisions   the decision of each Placement, and since when it is unchanged
api         the API client: no write without leadership
"""
