"""A fleet repository on disk: read it, know its kinds, edit it without losing a comment, look at its other
revisions.
"""
