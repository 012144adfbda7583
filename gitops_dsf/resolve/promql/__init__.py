"""PromQL: whether an expression parses, where its mistake is, which labels its result can have, and how far
it looks back.
"""
