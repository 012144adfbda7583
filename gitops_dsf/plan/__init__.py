"""Plans which cluster gets which configuration, in which shard. Pure; knows no YAML."""

from gitops_dsf.plan.build import ClusterWork, Configuration, Plan, build

__all__ = ["ClusterWork", "Configuration", "Plan", "build"]
