"""The status of every DynamicScorer."""
