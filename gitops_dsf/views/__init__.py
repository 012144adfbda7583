"""Views of a hub or a change, as values for people to read.

Pure: typed objects in, values out. The rules are in `hub`.
"""
