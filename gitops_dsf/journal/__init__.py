"""The journal: a record for each change of a decision, and what can be read from these records. Pure.

record    one change, with the explanations and the scores at that moment, as a line of a file
timeline  the records of one Placement, in order
"""
