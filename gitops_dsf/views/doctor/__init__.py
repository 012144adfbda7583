"""What keeps a hub from working, and the command that fixes it.

Pure: facts in, findings out. One check has one stable id; `registry` lists them, docs/doctor.md describes
them. Reading a hub is the business of `live`, showing that of `cli`.
"""

from gitops_dsf.views.doctor.examine import examine
from gitops_dsf.views.doctor.facts import Facts, Source
from gitops_dsf.views.doctor.finding import Finding, State

__all__ = ["Facts", "Finding", "Source", "State", "examine"]
