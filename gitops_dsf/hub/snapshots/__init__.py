"""A hub at one moment: the value, its file format, and collecting it from documents."""
