"""Go templates of ApplicationSets: `parse` reads them as Go does, `check` judges them.

It is guaranteed that a template with a finding of the kind FAILS does not run in the pinned Argo
CD, and tests/hub/test_argocd_agrees.py lets Argo CD agree. It is not guaranteed that a template
without findings runs: of most of Go's functions only the names are known, and named templates are
not read.
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
