"""The state of scoring on a hub: scorers by clusters, decisions and their flips, and moves."""
