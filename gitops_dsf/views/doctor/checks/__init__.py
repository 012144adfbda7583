"""One module per part of a hub; a check is a pure function from facts to results, and says something even
when all is well.
"""
