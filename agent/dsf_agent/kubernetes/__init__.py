"""Nodes, pods and devices of the agent's own cluster, and the measures counted from them."""
