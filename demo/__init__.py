"""`make demo`: the whole loop on one machine, without Kubernetes and without a network.

Real are the git repository, every gitops-dsf command, the agents, the scoring APIs, the simulator, and
Prometheus where there is one. Stood in for are the parts of a fleet that only Kubernetes has, each by one
module here: the kubelet (kubelet), cluster DNS (clusterdns), the hub with OCM's controllers (hub), and the
load of the clusters (load). docs/demo.md says so to people.
"""
