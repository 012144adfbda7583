"""Schemas of what people write and what the hub stores, all derived from the models: CRDs, JSON Schemas,
reference pages.
"""

from gitops_dsf.schema.crd import crds

__all__ = ["crds"]
