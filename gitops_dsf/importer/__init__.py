"""Writes the clusters and scorers of a hub into a fleet repository, and keeps what people wrote.

`manifest` turns an object of the hub into the one that git should hold, `selection` chooses labels
and claims, `update` edits the fields that follow the hub, `take` makes a `planned` import of all
objects, and `valid` leaves out the clusters with which the repository would be invalid. Nothing is
deleted: objects that the hub does not have are only reported.
"""
