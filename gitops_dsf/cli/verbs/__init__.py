"""The verbs that people type, each with its help and its arguments. It imports nothing slow."""
