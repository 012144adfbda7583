"""Sends series to the scoring API and turns its results into items of an AddOnPlacementScore."""
