"""What a team does with the product, on the test control plane.

A fleet repository, its rendered tree, agents, scoring APIs.
"""
