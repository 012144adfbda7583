"""The status of every DynamicScorer: health, /config, and the freshness of its scores.

controller       probes scoring APIs, and writes statuses
probes           health and /config, as remembered between rounds of probes
status           the status as it should be, and writing it
statusconfigmap  statuses that DynamicScorers cannot hold
freshnessreport  freshness as metrics and Events
"""
