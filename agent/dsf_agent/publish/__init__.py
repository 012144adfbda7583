"""Writes AddOnPlacementScores, and deletes those whose scorer was removed."""
