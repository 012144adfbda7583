"""Pull requests and their comments on a forge: proposals of the reconciler, previews of pipelines.

address  where a forge's API is, and what it calls the repository
forge    the interface, and what all forges have in common
github   GitHub and GitHub Enterprise Server; Gitea and Forgejo, which do nearly the same
gitlab   GitLab: merge requests and notes

Callers bring their own way to send requests (`Send`), with their token and limits.
"""

from typing import Final

from gitops_dsf.forge.address import Address, Kind, address_of
from gitops_dsf.forge.forge import Answer, Forge, ForgeError, Request, Send, Sign
from gitops_dsf.forge.github import Gitea, GitHub
from gitops_dsf.forge.gitlab import GitLab

FORGES: Final[dict[Kind, type[Forge]]] = {"GitHub": GitHub, "GitLab": GitLab, "Gitea": Gitea}

__all__ = [
    "FORGES",
    "Address",
    "Answer",
    "Forge",
    "ForgeError",
    "Kind",
    "Request",
    "Send",
    "Sign",
    "address_of",
]
