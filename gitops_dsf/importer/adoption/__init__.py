"""Adopts Placements and ApplicationSets that run already, without a change of any Application.

`applicationset` and `placement` read a live object and write what git should hold of it: a
ScoredApplication and a ScoredPlacement where these say all that the object says, and else the
object itself. `adopt` tries the first, asks the rules of `validate` and the renderer whether it
means the same as what is live, and falls back to the second, and then to leaving the object alone.

Guaranteed: what is written renders to an ApplicationSet that generates the same Applications from
the same decision, and to a Placement with the same fields. Not guaranteed: that nobody else applies
the objects, too. The summary names the Argo CD Application that does.
"""
