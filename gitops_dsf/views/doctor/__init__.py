"""Finds what is wrong on a hub, and the command that fixes it. Pure: facts in, findings out."""
