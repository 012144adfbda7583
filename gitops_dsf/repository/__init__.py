"""A fleet repository on disk: read it, know its kinds, edit it with its comments, see other revisions."""
