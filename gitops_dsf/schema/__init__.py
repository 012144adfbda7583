"""Schemas that are made from the models of the kinds.

`crd` has the CustomResourceDefinitions, from models by way of `structural`; `editor` has the JSON
Schemas; `scorer_status` is the model of what the reconciler writes.
"""
