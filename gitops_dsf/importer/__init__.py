"""Writes what a hub knows into a fleet repository, and keeps what people wrote there."""
