"""What the names of all series begin with."""

from typing import Final

PREFIX: Final = "gitops_dsf_reconciler"
