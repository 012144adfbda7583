"""Updates locks/ from the /config pages of scoring APIs.

Only `plan` and `fetch` send requests, and need the extra `live`.
"""
