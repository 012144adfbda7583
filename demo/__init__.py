"""`make demo`: the whole loop on one machine, without Kubernetes and without a network.

The git repository, every gitops-dsf command, the agents, the scoring APIs and the simulator are real. The
parts of a fleet that only Kubernetes has are replaced, each by one module: the kubelet (stage), the DNS and
the Prometheus of a cluster (network), the hub with OCM's controllers (hub), and the load of the clusters
(load). docs/start/quickstart.md explains it.
"""
