"""Updates locks/ from /config pages.

Only `plan` and `fetch` send requests, and need the extra `live`.
"""
