"""Finds problems on a hub, and the commands that fix them. Pure: facts in, findings out."""
