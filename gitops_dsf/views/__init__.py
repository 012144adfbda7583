"""What people read about a hub or a change: `status`, `doctor` and `preview`.

Pure: typed objects in, values out. The rules are in `hub`.
"""
