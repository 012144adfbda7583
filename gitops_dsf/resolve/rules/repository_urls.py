"""Checks the URLs of the repositories from which Argo CD deploys."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Edit, Mistake, codes
from gitops_dsf.resolve.application_sources import RepositorySource, sources
from gitops_dsf.resolve.application_templates import ACTION
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.urls.git import (
    BrowsedBranch,
    browsed_branch,
    fault_of_form,
    git_fault,
    holds_credentials,
)
from gitops_dsf.wording import closest

_SCHEMES: Final = ("https", "http", "ssh", "oci")


@rule()
def repositories_hold_no_credentials(context: Context) -> Iterator[Diagnostic]:
    """Git URLs must not hold credentials. Argo CD keeps them in Secrets."""
    repository = context.declared.repository
    if repository is not None and holds_credentials(repository.value.spec.git.url):
        yield codes.URL_CREDENTIALS.at(
            repository.at("spec", "git", "url"),
            "spec.git.url contains credentials; everybody who can read the repository can use them",
            "configure the repository's credentials in Argo CD",
        )
    for source in sources(context.declared):
        if holds_credentials(source.text("repoURL")):
            yield codes.URL_CREDENTIALS.at(
                source.at("repoURL"),
                "repoURL contains credentials; everybody who can read the repository can use them",
                "configure the repository's credentials in Argo CD",
            )


@rule()
def repositories_can_be_fetched(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reports Applications with another URL as invalid.

    A chart's registry needs no scheme.
    """
    for source in sources(context.declared):
        url = source.text("repoURL")
        is_chart = bool(source.text("chart"))
        if not url or url.startswith("{{"):
            continue  # it is missing, or a parameter says it
        # A parameter can add anything to a URL, so such a URL is not judged as a page's.
        page = None if is_chart or "{{" in url else browsed_branch(url)
        if page is not None:
            yield _browsed(source, url, page)
        elif mistake := _mistake(ACTION.sub("x", url), is_chart=is_chart):
            yield codes.REPOSITORY_URL.at(
                source.at("repoURL"), f"{url}: {mistake.message}", mistake.hint
            )


def _browsed(source: RepositorySource, url: str, page: BrowsedBranch) -> Diagnostic:
    """The finding about the page of a forge that shows a folder of a branch."""
    revision = "revision" if source.path[-1] == "git" else "targetRevision"
    edits = (
        Edit((*source.path, "repoURL"), value=page.clone_url),
        Edit((*source.path, revision), value=page.branch),
    )
    return codes.REPOSITORY_URL.at(
        source.at("repoURL"),
        f"{url} is a page for people, and Argo CD cannot fetch it",
        f"write repoURL: {page.clone_url}, and targetRevision: {page.branch}",
        # With a slash, the end of the branch may be a folder.
        edits=() if "/" in page.branch else edits,
    )


def _mistake(url: str, *, is_chart: bool) -> Mistake | None:
    """The mistake in the URL of a source, in which a letter stands for each action."""
    scheme, separator, rest = url.partition("://")
    mistake = fault_of_form(url)
    if mistake is not None:
        return mistake
    if is_chart and (not separator or scheme in {"http", "https", "oci"}):
        return None
    if scheme in {"git", "oci"} and rest:
        return None
    similar = closest(scheme, _SCHEMES) if separator and scheme not in _SCHEMES else ""
    if similar:
        return Mistake("Argo CD cannot clone this URL", f"did you mean {similar}://{rest}?")
    return git_fault(url)
