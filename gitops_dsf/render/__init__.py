"""Renders a fleet as files, one Kubernetes object per file.

Guaranteed: pure, and the bytes are the same everywhere, for every order of the sources. `tree` has
the whole result; `platform`, `delivery`, `reconciler`, `works` and `argocd` have one directory
each, and the other modules the parts of those. `limits` finds objects that OCM or Argo CD would
refuse, before anything is written.
"""
