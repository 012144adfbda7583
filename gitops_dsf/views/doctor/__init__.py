"""Finds what is wrong on a hub, and the command that fixes it.

Pure: facts in, findings out. Each check has a stable ID; `examine` lists them, and docs/operate/status.md
describes them. `hubreader` reads the hub, and `cli` shows the findings.
"""

from gitops_dsf.views.doctor.examine import examine, not_installed
from gitops_dsf.views.doctor.facts import Facts, Source
from gitops_dsf.views.doctor.finding import Finding, State

__all__ = ["Facts", "Finding", "Source", "State", "examine", "not_installed"]
