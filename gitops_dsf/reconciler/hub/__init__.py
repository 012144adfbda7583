"""The hub as all controllers share it.

view       the informers of every resource
kinds      path, projection and reference of each kind
scores     AddOnPlacementScores, a few bytes each
rendered   the ConfigMaps with masks and maintenance
decisions  the decision of each Placement, and since when it is unchanged
api        the API client: no write without leadership
"""
