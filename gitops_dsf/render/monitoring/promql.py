"""The few PromQL phrases that alerts and panels share."""

from typing import Final

RECONCILER: Final = "gitops_dsf_reconciler"
AGENT: Final = "gitops_dsf_agent"
LEADER: Final = f"{RECONCILER}_leader"


def led(series: str) -> str:
    """The series (name without prefix, matchers if any) of the replica that leads: another one may still show
    what it saw when it led.
    """
    return f"{RECONCILER}_{series} and on (job, instance) ({LEADER} == 1)"
