"""Go templates of ApplicationSets: parsed as Go does (`parse`), checked for what they would do (`check`)."""

from gitops_dsf.argocd.gotemplate.check import Finding, Trouble, check, reads, unresolved
from gitops_dsf.argocd.gotemplate.parse import parse
from gitops_dsf.argocd.gotemplate.plain import Read
from gitops_dsf.argocd.gotemplate.tokens import TemplateError

__all__ = ["Finding", "Read", "TemplateError", "Trouble", "check", "parse", "reads", "unresolved"]
