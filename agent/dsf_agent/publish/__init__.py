"""Writes AddOnPlacementScores to the hub or to a directory, and deletes those whose scorer was removed."""
