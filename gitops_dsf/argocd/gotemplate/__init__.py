"""Go templates of ApplicationSets: `parse` reads them as Go does, `check` judges them.

Guaranteed: a template with a finding of the kind FAILS does not run in the pinned Argo CD, and
tests/hub/test_argocd_agrees.py lets Argo CD agree. Not guaranteed: that a template without findings
runs. Only the names of most of Go's functions are known, and named templates are not read.
"""

from gitops_dsf.argocd.gotemplate.check import check, reads
from gitops_dsf.argocd.gotemplate.mistakes import TemplateError, TemplateMistake, Trouble
from gitops_dsf.argocd.gotemplate.parse import parse
from gitops_dsf.argocd.gotemplate.values import Parameters, TextRead, Value

__all__ = [
    "Parameters",
    "TemplateError",
    "TemplateMistake",
    "TextRead",
    "Trouble",
    "Value",
    "check",
    "parse",
    "reads",
]
