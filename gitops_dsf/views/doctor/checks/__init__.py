"""One module per part of a hub. A check is a pure function from facts to results, and returns at least one
result.
"""
