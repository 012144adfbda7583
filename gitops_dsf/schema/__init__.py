"""Schemas that are derived from the models: CRDs and JSON Schemas."""
