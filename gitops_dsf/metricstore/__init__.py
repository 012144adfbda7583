"""Reads the history of metrics from a store that has Prometheus' HTTP API, or from saved answers of one."""
