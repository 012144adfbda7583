"""The scores of other add-ons that spec.externalScores of gitops-dsf.yaml declares."""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.repository.model.external_scores import ExternalScore
from gitops_dsf.wording import closest


class ExternalScores:
    """Finds the declaration of a score by the names that a prioritizer of OCM gives it."""

    def __init__(self, declared: Iterable[ExternalScore]) -> None:
        """Takes the first of several declarations of one score. A rule reports the others."""
        self.by_key: dict[ScoreKey, ExternalScore] = {}
        self._names: dict[str, list[str]] = {}
        for external in declared:
            for name in external.names:
                self.by_key.setdefault((external.resource, name), external)
            self._names.setdefault(external.resource, []).extend(external.names)

    @property
    def names_by_resource(self) -> Mapping[str, list[str]]:
        """The declared items of each AddOnPlacementScore."""
        return self._names

    def of(self, resource: str, name: str) -> ExternalScore | None:
        """The declaration of a score; None if there is none."""
        return self.by_key.get((resource, name))

    def closest(self, resource: str, name: str) -> str:
        """The declared score that is most like a misspelt one, as `resource/name`.

        Empty if none is close.
        """
        # An item of the same object is more likely meant than one of another object.
        if resource in self._names:
            similar = closest(name, self._names[resource])
            return f"{resource}/{similar}" if similar else ""
        similar = closest(resource, self._names)
        if not similar:
            return ""
        names = self._names[similar]
        # The object alone is not a score, but it shows where the misspelling is.
        score_name = name if name in names else closest(name, names)
        return f"{similar}/{score_name}" if score_name else similar

    @property
    def texts(self) -> list[str]:
        """Every declared score as `resource/name`, in order."""
        return sorted(f"{resource}/{name}" for resource, name in self.by_key)

    def spans(self) -> Mapping[str, ScoreSpan]:
        """The values of the items of each AddOnPlacementScore.

        A missing item counts as 0, so 0 is within every span.
        """
        spans: dict[str, ScoreSpan] = {}
        for external in self.by_key.values():
            before = spans.get(external.resource, ScoreSpan(0, 0))
            published = external.published
            spans[external.resource] = ScoreSpan(
                low=min(before.low, published.low), high=max(before.high, published.high)
            )
        return spans
