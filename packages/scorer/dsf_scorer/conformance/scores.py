"""Reads a scoring response as the agent does: result by result."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import msgspec

from dsf_scorer.conformance.exchange import Reply
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.dimension import LABELS
from dsf_wire.scoring import ScoringResponse, ScoringResult

SHOWN: Final = 3
"""How many invalid results are described."""


@dataclass(kw_only=True)
class CheckedScores:
    """The valid scores of a response, and what is wrong with the others."""

    scores: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    labels: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @property
    def outside(self) -> int:
        """The number of scores that do not fit an AddOnPlacementScore without a scoreRange."""
        return sum(not SCORE_MIN <= score <= SCORE_MAX for score in self.scores)

    @property
    def duplicates(self) -> int:
        """The number of results whose labels equal those of another one, as far as an agent reads them."""
        return sum(count - 1 for count in self.labels.values())

    @property
    def fault(self) -> str:
        more = f" and {len(self.faults) - SHOWN} more" if len(self.faults) > SHOWN else ""
        return "; ".join(self.faults[:SHOWN]) + more


def read(reply: Reply) -> CheckedScores:
    """Reads a response. Never raises: what cannot be read becomes a fault."""
    answer = CheckedScores()
    try:
        raw = msgspec.json.decode(reply.body, type=ScoringResponse).results
    except msgspec.ValidationError as error:
        answer.faults.append(f'{error}; expected {{"results": [{{"metric": {{...}}, "score": 1.5}}]}}')
        return answer
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        strange = b"NaN" in reply.body or b"Infinity" in reply.body
        hint = "; NaN and Infinity are not JSON: leave such results out" if strange else ""
        answer.faults.append(f"not JSON: {error}{hint}")
        return answer
    for index, item in enumerate(raw):
        try:
            result = msgspec.json.decode(item, type=ScoringResult)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            answer.faults.append(f"results[{index}]: {error}")
            continue
        if not math.isfinite(result.score):
            answer.faults.append(f"results[{index}]: the score is {result.score}")
            continue
        answer.scores.append(result.score)
        answer.labels[tuple(result.metric.get(label, "") for label in LABELS)] += 1
    return answer
