"""AddOnPlacementScores, and their content with equal parts shared.

A fleet has hundreds of thousands of them, so only what OCM counts is kept, and `gc=False` keeps
Python's garbage collector from looking at each. Guaranteed: texts that agents write are bounded and
printable. Not guaranteed: that a score has not expired; `score_states` has the rule.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from dsf_wire.constants import AGENT_MANAGER, RUNS_ON_HUB, RUNS_ON_LABEL
from dsf_wire.ownership import STATUS, FieldsOwner
from dsf_wire.scored import MAX_CONDITION_REASON, SCORED, condition_message
from dsf_wire.text import printable
from gitops_dsf.hub.metadata import Int32, ObjectCondition, condition_of
from gitops_dsf.hub.times import Timestamp, moment_of

MAX_KEPT: Final = 100_000
"""Parts that an Interner remembers.

A scorer with one item has 200 different values, one with an item for each node many more.
"""


class ScoreItem(Struct, frozen=True, gc=False):
    """One score of an object."""

    name: str
    # One value outside -100..100 makes the API server refuse the whole list (OCM 1.2.1).
    value: Int32


class ScoreStatus(Struct, frozen=True, rename="camel", gc=False):
    conditions: tuple[ObjectCondition, ...] | None = None
    scores: tuple[ScoreItem, ...] | None = None
    # Without it OCM counts the scores for ever, also when their agent is gone.
    valid_until: Timestamp | None = None


class ScoreLabels(
    Struct,
    frozen=True,
    gc=False,
    rename={"managed_by": "app.kubernetes.io/managed-by", "runs_on": RUNS_ON_LABEL},
):
    managed_by: str = ""
    runs_on: str = ""


class ScoreMetadata(Struct, frozen=True, gc=False):
    name: Annotated[str, Meta(min_length=1)]
    namespace: str | None = None
    labels: ScoreLabels | None = None

    @property
    def ours(self) -> bool:
        """Whether an agent of gitops-dsf or the hub scorer wrote the object."""
        return self.labels is not None and self.labels.managed_by == AGENT_MANAGER

    @property
    def on_hub(self) -> bool:
        """Whether the hub scorer wrote the object."""
        return self.labels is not None and self.labels.runs_on == RUNS_ON_HUB


class AddOnPlacementScore(Struct, frozen=True, gc=False):
    """The object as the API server returns it. Its namespace is the cluster."""

    metadata: ScoreMetadata
    # There is no spec, so a create or an apply of the whole object drops the scores
    # (docs/contributing/behaviour.md#score-objects-have-no-spec).
    status: ScoreStatus | None = None


class BareScore(Struct, frozen=True, gc=False):
    """The fields that are read of a score whose validUntil is not a valid time. It counts as 0.

    API servers accept such a text.
    """

    metadata: ScoreMetadata


class OwnedScoreMetadata(
    ScoreMetadata, frozen=True, gc=False, rename={"managed_fields": "managedFields"}
):
    managed_fields: tuple[FieldsOwner, ...] | None = None


class OwnedScore(Struct, frozen=True, gc=False):
    """An AddOnPlacementScore with its managedFields.

    They cost as much to decode as all the rest, so only `doctor` reads them.
    """

    metadata: OwnedScoreMetadata
    status: ScoreStatus | None = None


def other_managers(entries: tuple[FieldsOwner, ...]) -> tuple[str, ...]:
    """Field managers other than our agent that write the status of a score of our agent."""
    managers: list[str] = []
    for entry in entries:
        if entry.subresource == STATUS and not entry.ours:
            managers.append(entry.manager)
    return tuple(managers)


class ScoreFailure(Struct, frozen=True, gc=False):
    """A reason why a scorer gives no score on a cluster, as its agent or the hub scorer wrote it.

    Any holder of an agent's account can write these texts, so they are bounded and printable here.
    """

    reason: str
    """A ScoredReason, or the word of an agent that knows other ones."""
    message: str
    since: datetime | None
    """None if the time cannot be read."""


def failure_of(*, reason: str, message: str, since: datetime | None) -> ScoreFailure:
    """A failure in the words of a stranger, made printable and bounded."""
    return ScoreFailure(
        reason=printable(reason, max_characters=MAX_CONDITION_REASON),
        message=condition_message(message),
        since=since,
    )


class PublishedScore(Struct, frozen=True, gc=False):
    """The content of an AddOnPlacementScore."""

    valid_until: datetime | None = None
    """OCM counts the values as 0 after this time; None means they count forever."""
    names: tuple[str, ...] = ()
    """Names in `status.scores[]`, in order. If a name appears twice, the last value counts."""
    values: tuple[int, ...] = ()
    """Aligned with `names`."""
    on_hub: bool = False
    """Whether the hub scorer wrote it, as far as this is known."""
    failure: ScoreFailure | None = None
    """The reason why the scorer gives no score now.

    It is None while it does, and for agents that give no reason.
    """

    @property
    def only_failure(self) -> bool:
        """Whether the object has no items and only says why.

        OCM 1.2.1 counts such a cluster as 0, as one without the object. Only CEL that people wrote
        can distinguish the two (docs/decisions/scheduler.md#a-score-that-was-never-there).
        """
        return not self.names and self.failure is not None

    def get(self, dimension: str) -> int | None:
        """The value of an item; None if there is no such item."""
        # Nearly all scores have one item, and there may be a million of them.
        if len(self.names) == 1:
            return self.values[0] if self.names[0] == dimension else None
        for position in range(len(self.names) - 1, -1, -1):
            if self.names[position] == dimension:
                return self.values[position]
        return None

    def items(self) -> Iterator[tuple[str, int]]:
        """Names and values, in order."""
        return zip(self.names, self.values, strict=True)


Scores = Mapping[str, Mapping[str, PublishedScore]]
"""Scores by name of the AddOnPlacementScore, then by cluster."""


class Interner:
    """Shares equal parts of scores: times, names and values.

    In a fleet nearly all parts are equal, so scores take a fraction of the memory.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def score(
        self,
        valid_until: datetime | None,
        names: tuple[str, ...],
        values: tuple[int, ...],
        *,
        on_hub: bool = False,
        failure: ScoreFailure | None = None,
    ) -> PublishedScore:
        """The score with these parts."""
        kept = self._kept
        if len(kept) >= MAX_KEPT:
            # A program that runs for months sees many parts that no score has any more.
            kept.clear()
        shared = kept.setdefault
        return PublishedScore(
            shared(valid_until, valid_until),
            shared(names, names),
            shared(values, values),
            on_hub,
            None if failure is None else shared(failure, failure),
        )

    def of(self, status: ScoreStatus | None, *, on_hub: bool = False) -> PublishedScore:
        """The score of an object; an empty one if it has no status."""
        # A create drops the status, so an object may be without one for a moment.
        if status is None:
            return self.score(None, (), (), on_hub=on_hub)
        scores = status.scores or ()
        # Lists are faster than generators here, and a fleet has a million scores.
        return self.score(
            status.valid_until,
            tuple([score.name for score in scores]),
            tuple([score.value for score in scores]),
            on_hub=on_hub,
            failure=_failure_in(status.conditions) if status.conditions else None,
        )


def _failure_in(conditions: tuple[ObjectCondition, ...]) -> ScoreFailure | None:
    """The content of the condition `Scored`, if it is False."""
    condition = condition_of(conditions, SCORED)
    if condition.status != "False":
        return None
    since = condition.since
    return failure_of(
        reason=condition.reason,
        message=condition.message,
        since=None if since is None else moment_of(since),
    )


def without_failures(
    scores: Mapping[str, PublishedScore],
) -> Mapping[str, PublishedScore]:
    """The scores of one name without objects that only say why there is none."""
    # Usually there are none, and then nothing is copied.
    if not any(score.only_failure for score in scores.values()):
        return scores
    return {cluster: score for cluster, score in scores.items() if not score.only_failure}


def failures_in(scores: Mapping[str, PublishedScore]) -> dict[str, ScoreFailure]:
    """The reasons why the scorer of these scores gives none now, by cluster."""
    failures: dict[str, ScoreFailure] = {}
    for cluster, score in scores.items():
        if score.failure is not None:
            failures[cluster] = score.failure
    return failures


def score_of(
    values: Mapping[str, int] | Iterable[tuple[str, int]] = (),
    *,
    valid_until: datetime | None = None,
) -> PublishedScore:
    """Makes a score from values by dimension."""
    by_name = tuple(values.items() if isinstance(values, Mapping) else values)
    names = tuple(name for name, _ in by_name)
    return PublishedScore(valid_until, names, tuple(value for _, value in by_name))
