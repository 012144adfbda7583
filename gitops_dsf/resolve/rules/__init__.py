"""Rules across objects: each a small function from Context to diagnostics. `registry.RULES` is the list of
all.
"""
