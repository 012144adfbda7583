"""The connection to the hub that all controllers share: one view, one client, one Lease.

api           the client, which sends no write without a claim on the Lease
leadership    the Lease
view          informers and polls, of which each resource has one for all controllers
kinds         the fields that are kept of each kind's objects
scorecolumns  scores in little memory
scorersource  the scorers, from the rendered list and their DynamicScorers
decisions     the clusters of each Placement over all pages
configmaps    rendered ConfigMaps, and those of the reconciler
"""
