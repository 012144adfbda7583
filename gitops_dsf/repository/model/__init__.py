"""The authored kinds of a fleet repository: one pydantic model for each.

They have strict types and no unknown fields. They do no I/O, and have no rules between objects.
"""
