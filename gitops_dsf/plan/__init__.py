"""Plans which cluster gets which configuration, in which shard. Pure; knows no YAML."""

from gitops_dsf.plan.build import build
from gitops_dsf.plan.types import ClusterWork, Configuration, Plan

__all__ = ["ClusterWork", "Configuration", "Plan", "build"]
