"""Runs the cycles of every scorer: one worker per scorer, on a grid of its interval."""
