"""The order in which Kueue offers clusters to jobs: the reconciler's part of it.

controller  reads the hub, asks `gitops_dsf.multikueue` for the order, and writes it
configs     the MultiKueueConfig: read, and written with the resourceVersion that was read
jobs        which jobs are on which clusters
kueueview   the informers of Kueue's objects, which run only while Kueue is there
namespaces  Placements and decisions outside of the namespace of Argo CD
report      Events and metrics
"""
