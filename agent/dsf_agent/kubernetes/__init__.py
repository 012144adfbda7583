"""Nodes and pods of the agent's own cluster, and the measures that are counted from them."""
