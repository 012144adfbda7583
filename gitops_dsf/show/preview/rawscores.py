"""The raw scores of a preview in words: their store, their age, and those that are missing."""

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET, UnsetType

from gitops_dsf.hub.times import age_text
from gitops_dsf.views.preview.rawquestions import RawScorerAnswer, RawScoreSource
from gitops_dsf.wording import plural

MAX_SCORERS: Final = 5
"""Scorers that are named. JSON has all."""


def raw_score_sentences(source: RawScoreSource | UnsetType) -> Iterator[str]:
    """The sentences after the line about the data of the hub; none if no store was asked."""
    if source is UNSET:
        return
    if source.scorers:
        answers = list(map(_answer, source.scorers[:MAX_SCORERS]))
        rest = len(source.scorers) - MAX_SCORERS
        if rest > 0:
            answers.append(f"and {plural(rest, 'more scorer')}")
        yield f"Raw scores of {source.origin}: {'; '.join(answers)}"
    if source.problems:
        title = "Not all raw scores" if source.scorers else "No raw scores"
        yield f"{title}: {'; '.join(source.problems)}"


def _answer(answer: RawScorerAnswer) -> str:
    subject = f"the new query of {answer.scorer}" if answer.reevaluated else answer.scorer
    text = f"{subject} on {answer.answered} of {plural(answer.clusters, 'cluster')}"
    if answer.age_seconds is None:
        return text
    # The age of an evaluation is not that of the metrics, of which the query says nothing.
    if answer.reevaluated:
        return text + f", evaluated {age_text(answer.age_seconds)} ago"
    return text + f", up to {age_text(answer.age_seconds)} old"
