module gitops-dsf.io/hub/consumers

go 1.27.0

toolchain go1.27.3

// Read for their CRDs alone; nothing is built from them.
require (
	open-cluster-management.io/governance-policy-propagator v0.17.0
	sigs.k8s.io/kueue v0.19.2
)
