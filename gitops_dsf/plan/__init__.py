"""Plans the objects of the hub: which scorers run where, in which configuration and in which shard.

The way of a scorer to its clusters: `resolve` makes an `EffectiveScorer` from the document.
`summaries` writes it in the wire format, once for each variant of its source. `configurations` puts
the summaries together that one process runs, and `works` says which cluster gets which
configuration. `render.works` turns that into ManifestWorks. `storequery` writes the query of a
scorer for a store with the metrics of many clusters. `fleet` has the result of all planning.

Guaranteed: pure; nothing here reads files or knows YAML, and equal repositories give equal plans,
in the same order.
"""
