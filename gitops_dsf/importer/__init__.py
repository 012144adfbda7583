"""Writes what a hub knows into a fleet repository, and keeps what people wrote there.

`manifest` makes of an object of the hub what git should hold, `selection` says which labels and
claims, `update` edits the fields that follow the hub, `take` makes a `planned` import of all
objects, and `valid` leaves out the clusters with which the repository would be invalid. Nothing is
deleted: objects that the hub does not have are only reported.
"""
