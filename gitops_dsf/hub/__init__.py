"""The objects of a hub as typed values, and one rule for each fact about them. No I/O.

| what you look for | module |
|---|---|
| names of labels, annotations, ConfigMaps and Secrets | `names` |
| where an API server has a kind; what could not be read | `resources`, `unread` |
| what all objects have, times, selectors | `metadata`, `times`, `selectors`, `label_index` |
| OCM's kinds, and what they say | `objects`, `placements`, `decisions`, `scores`, `score_states` |
| paced Placements, and points for people | `pace`, `points` |
| orders of clusters for Kueue | `multikueue` |
| kinds of gitops-dsf | `scorers`, `drift`, `targets`, `maintenance`, `windows` |
| kinds of Argo CD | `application_sets`, `applications` |
| namespaces of the platform | `namespaces` |
| why a decision moved, why a move waits, flapping | `moves` |
| a hub at one moment, and its files | `snapshots` |
| the programs of gitops-dsf that run on a hub | `programs` |
"""
