"""Updates locks/ from the /config pages of scoring APIs. Only `plan` and `fetch` send requests; they need the
libraries of the extra `live`.
"""
