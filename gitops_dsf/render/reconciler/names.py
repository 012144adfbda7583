"""Names that the reconciler's objects share."""

from typing import Final

NAME: Final = "gitops-dsf-reconciler"
"""Deployment, ServiceAccount, Service and Lease; reconciler/lease.py has it as LEASE."""
LABELS: Final = {"app.kubernetes.io/name": NAME}
POD_LABEL: Final = f"app.kubernetes.io/name={NAME}"
"""Selects its pods."""
