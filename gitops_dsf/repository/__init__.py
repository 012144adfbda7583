"""A fleet repository on disk: its files, its kinds, its YAML with comments, its revisions."""
