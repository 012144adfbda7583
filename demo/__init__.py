"""The demo, `make demo`: the whole loop on one machine, without Kubernetes and without a network.

The git repository, every gitops-dsf command, the agents, the scoring APIs and the simulator are
real. The parts of a fleet that only Kubernetes has are replaced, each by one module: the kubelet
(stage), the DNS, the Prometheus and the load of a cluster (network), and the hub with OCM's
controllers (hub). docs/start/quickstart.md explains it.
"""
