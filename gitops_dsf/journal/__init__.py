"""The journal: a record for each change of a decision, and what can be read from these records.
Pure.
"""
