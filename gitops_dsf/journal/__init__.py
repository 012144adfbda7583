"""The journal: a record for each change of a decision, and the conclusions from these records.

`record` describes a record, `lines` reads and writes the files, `timeline` puts the records of a
Placement in order, and `cause` finds why a decision changed. Pure: the reconciler keeps the files
on a branch, and `log` reads them.
"""
