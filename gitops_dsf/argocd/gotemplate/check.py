"""Checks what a template would do in Argo CD: whether it fails, and whether it stays small."""

from collections.abc import Collection, Mapping

from gitops_dsf.argocd.gotemplate.cost import MAX_CHARACTERS
from gitops_dsf.argocd.gotemplate.mistakes import (
    SHARED,
    TemplateMistake,
    Trouble,
)
from gitops_dsf.argocd.gotemplate.run import Run
from gitops_dsf.argocd.gotemplate.values import Parameters, TextRead


def check(
    text: str, parameters: Parameters | None, lacking: Collection[TextRead] = ()
) -> tuple[TemplateMistake, ...]:
    """The mistakes in a text.

    Without `parameters` any may be there; `lacking` are empty texts.
    """
    # Most texts of an ApplicationSet have no action: neither Go nor this has anything to do then.
    start = text.find("{{")
    if start < 0:
        return ()
    if len(text) > MAX_CHARACTERS:
        return (
            TemplateMistake(
                f"{len(text)} characters with actions in them, more than {MAX_CHARACTERS}: that is"
                f" much for {SHARED}",
                "move the text into the repository",
                start,
                Trouble.COST,
            ),
        )
    # It is not run with values: what a cluster has changes, and a template must work for all.
    run = Run(parameters, lacking)
    run.text(text)
    return tuple(run.mistakes)


def reads(text: str, parameters: Parameters) -> Mapping[TextRead, int]:
    """The texts that a template reads from maps of texts, each with an offset.

    Empty for a template that is not read. What is behind a mistake in an action is not known.
    """
    run = Run(parameters)
    run.text(text)
    return run.read
