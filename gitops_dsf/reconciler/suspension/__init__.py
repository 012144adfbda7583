"""Duty: spares a scoring API that is down the calls of the fleet (docs/reconciler.md#suspension). Off unless
asked for.

`hearing` hears the clusters, `circuit` decides, `listed` is the ConfigMap that agents read, `duty` brings
them together.
"""
