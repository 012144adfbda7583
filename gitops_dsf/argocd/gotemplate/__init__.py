"""Go templates of ApplicationSets: `parse` reads them as Go does, `check` judges them."""

from gitops_dsf.argocd.gotemplate.check import TemplateMistake, Trouble, check, reads, unresolved
from gitops_dsf.argocd.gotemplate.nodes import TemplateError
from gitops_dsf.argocd.gotemplate.parse import parse
from gitops_dsf.argocd.gotemplate.plain import Read

__all__ = [
    "Read",
    "TemplateError",
    "TemplateMistake",
    "Trouble",
    "check",
    "parse",
    "reads",
    "unresolved",
]
