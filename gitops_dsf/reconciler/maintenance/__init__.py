"""Maintenance on the hub: taints on clusters that are cordoned or drained (docs/decisions/maintenance.md).

controller  the control loop
report      Events and metrics of drains, which the controller of paced moves carries out
"""
