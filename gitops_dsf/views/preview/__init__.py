"""What a change of a fleet repository does: scorers, Placements, and applications that would move."""
