"""Alert rules, dashboard and scrape settings: one source for what is rendered and for the files in
monitoring/.
"""

from gitops_dsf.render.monitoring.alerts import GROUPS, Alert, rules
from gitops_dsf.render.monitoring.dashboard import dashboard
from gitops_dsf.render.monitoring.manifests import monitoring

__all__ = ["GROUPS", "Alert", "dashboard", "monitoring", "rules"]
