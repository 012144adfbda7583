"""Adopts Placements and ApplicationSets that run already, without a change of any Application.

`applicationset` and `placement` read a live object, with the help of `liveset`, and write what git
should hold of it: a ScoredApplication and a ScoredPlacement where these say all that the object
says. `manifests` writes the object itself, and `otherscores` declares the scores of other add-ons
by which it ranks. `adopt` tries the first of these `forms`, asks the rules of `validate`, and
`agreement` whether what is rendered means what is live, and falls back to the second, and then to
leaving the object alone.

Guaranteed: each written document renders to an ApplicationSet that generates the same Applications
from the same decision, and to a Placement with the same fields. Not guaranteed: that no other
program applies the objects, too. The summary names the Argo CD Application that does.
"""
