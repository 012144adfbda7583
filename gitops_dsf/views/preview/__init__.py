"""Effects of a change of a fleet repository on scorers, Placements and applications.

`build.compare` compares two checked fleets with the known facts about a hub. Both are applied to
the same hub (`hubstate`), the first one until nothing moves any more (`transition`), and every
Placement is simulated before and after (`verdictpairs`). A score that only the changed scorer can
compute is not guessed: `nextscores` bounds it, and a decision is certain where the bounds decide
it.

A section of a preview is a typed value here, a field of `build.Comparison`, and a function in
`gitops_dsf.show.preview` that writes it. Nothing here does I/O.
"""
