"""Reads the history of metrics, from a store or from saved answers of one."""
