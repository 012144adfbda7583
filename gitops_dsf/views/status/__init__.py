"""The state of scoring on a hub: scorers by clusters, decisions and what would flip them, moves."""
