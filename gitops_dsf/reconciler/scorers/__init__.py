"""Duty: health, /config and freshness of every DynamicScorer, in its status."""
