"""The status of a hub in words, for a terminal: one module for each section.

`views.status` computes a hub as values, and the JSON output is made of these. Each module here
turns one section of them into lines; `report` puts the sections together. What needs a person comes
first in each section, so that it is seen also where a list is cut. JSON output has the sentences of
notes as well, so `document` asks the same functions.
"""
