"""Duties: Argo CD looks at a decision when it changed (`refresh`); the old copy goes when the new one is
healthy (`duty`).

`watch` and `unions` note when decisions change, for both. `settling` says which ApplicationSets should look.
`handover` judges which copy may go, `decided` whether a decision is whole, `best` and `pauses` remember,
`removal` reads everything again and deletes, `report` tells.
"""
