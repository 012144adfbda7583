"""Schemas that are derived from the models: CRDs, JSON Schemas and reference pages."""

from gitops_dsf.schema.crd import crds

__all__ = ["crds"]
