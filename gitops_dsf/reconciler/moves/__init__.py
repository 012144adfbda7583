"""Duties: Argo CD looks at a decision when it changed (`refresh`)."""
