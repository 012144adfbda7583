"""The objects of a hub as typed values, and one rule for each fact about them. No I/O.

| what you look for | module |
|---|---|
| names of labels, annotations, ConfigMaps and Secrets | `names` |
| where an API server has a kind; what could not be read | `resources`, `unread` |
| what all objects have, times, selectors | `metadata`, `times`, `selectors`, `label_index` |
| OCM's kinds, and what they say | `objects`, `placements`, `decisions`, `scores`, `score_states` |
| why a scorer gives no scores | `score_failures` |
| bounds of scores; raw scores in a store | `intervals`, `raw_results`, `raw_series` |
| paced Placements, and points for people | `pace`, `points` |
| orders of clusters for Kueue | `multikueue` |
| kinds of gitops-dsf | `scorers`, `drift`, `targets`, `maintenance`, `windows` |
| the CRD of DynamicScorer, the rendered list of scorers | `scorerdefinition`, `scorerlist` |
| who delivers scoring configuration | `delivery` |
| digests of the clusters in git, for verified moves | `inventory_digests` |
| kinds of Argo CD | `application_sets`, `applications` |
| where Argo CD is, and which commit it has applied | `argocdplace`, `deployed` |
| namespaces of the platform | `namespaces` |
| why a decision moved, why a move waits, flapping | `moves` |
| a hub at one moment, and its files | `snapshots` |
| the programs of gitops-dsf that run on a hub | `programs` |
"""
