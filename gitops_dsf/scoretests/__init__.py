"""Runs the ScoreTests of a repository: what a test gives, what comes of it, and what it expected."""
