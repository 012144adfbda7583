"""What a team does with the product, on the test control plane: a fleet repository, its rendered
tree, agents, scoring APIs.
"""
