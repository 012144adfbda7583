"""The objects of a hub as typed values, and one rule for each fact about them. No I/O."""
