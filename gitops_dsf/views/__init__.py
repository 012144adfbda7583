"""What people read about a hub or a change.

Pure: typed objects in, values out. The rules are in `hub`.
"""
