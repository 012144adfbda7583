"""What people write: one pydantic model per authored kind.

Strict types, no unknown fields, no I/O, no cross-object rules.
"""
