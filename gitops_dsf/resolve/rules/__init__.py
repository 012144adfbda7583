"""Rules across objects. Each is a small function from Context to diagnostics."""
