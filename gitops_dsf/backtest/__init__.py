"""Computes what a fleet repository would have decided over a past span of time.

A fold over events: raw scores -> the agent's functions -> published scores -> OCM's rules, at the moments at
which OCM reconciles. Pure: reading a metric store is in `gitops_dsf.metricstore`.
"""
