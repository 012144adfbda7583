"""Small repositories with paced moves for tests/golden/test_findings.py, by name."""

from collections.abc import Mapping
from typing import Final

from tests.support.repositories import BASE, FULL, LOCK, app, beside_upstream

SETTINGS: Final = BASE["gitops-dsf.yaml"]
SPANNED: Final = BASE["scorers/s.yaml"]
"""Its scores are 0 to 100."""
OTHER: Final = SPANNED.replace("name: cpu}", "name: free}").replace("cpu_score", "free_score")
WIDE: Final = OTHER.replace("  scoreRange: {min: 0, max: 1}\n", "")
"""Its scores are -100 to 100."""


def _settings(pace: str = "", more: str = "") -> str:
    return SETTINGS.replace("spec: {", f"spec: {{pace: {{{pace}}}, {more}")


def _app(
    scores: str, *, count: str = "numberOfClusters: 1", moves: str = "", stickiness: int = 100
) -> str:
    written = app("[{scorer: cpu}]", f"[{scores}]\n  stickiness: {stickiness}")
    written = written.replace("numberOfClusters: 1", count)
    return f"{written}  moves: {{{moves}}}\n" if moves else written


def _case(settings: str, apps: str, *scorers: str) -> dict[str, str]:
    return {"settings": settings, "apps": apps, "scorers": "---\n".join((SPANNED, *scorers))}


_BOTH: Final = "{scorer: cpu, weight: %d}, {scorer: free, weight: %d}"
CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "pace: weights that hold": _case(_settings(), _app(_BOTH % (1, 3)), OTHER),
    "pace: proportions that hold": _case(_settings(), _app(_BOTH % (10, 10), stickiness=50), OTHER),
    "pace: weights that reach what an item gives": _case(_settings(), _app(_BOTH % (4, 1)), OTHER),
    "pace: scores without a range": _case(_settings(), _app(_BOTH % (-7, 3)), WIDE),
    "pace: more scores than an item of moves can name": _case(
        _settings(),
        _app(", ".join(f"{{scorer: s{number}}}" for number in range(101))),
        *(
            OTHER.replace("name: free", f"name: s{n}").replace("free_", f"s{n}_")
            for n in range(101)
        ),
    ),
    "pace: off": _case(_settings(), _app(_BOTH % (-7, 3), moves="pace: None"), WIDE),
    "pace: every eligible cluster": _case(
        _settings(), _app("{scorer: cpu, demand: 5, weight: 9}", count="clusterSets: [global]")
    ),
    "pace: demands": _case(_settings(), _app("{scorer: cpu, demand: 5}")),
    "pace: a demand that is off": _case(
        _settings(), _app("{scorer: cpu, demand: 5}", moves="pace: None")
    ),
    "pace: a demand without a pace": _case(SETTINGS, _app("{scorer: cpu, demand: 5}")),
    "pace: a demand of a ScoredPlacement": _case(
        _settings(),
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\nmetadata: {name: shared}\n"
        "spec: {scores: [{scorer: cpu, demand: 1}], placement: {numberOfClusters: 1}}\n",
    ),
    "pace: no reconciler": _case(
        _settings().replace("reconciler: {", "reconciler: {enabled: false, "), _app("{scorer: cpu}")
    ),
    "pace: the upstream controller": {
        **_case(beside_upstream(_settings()), _app("{scorer: cpu}")),
        "scorers": SPANNED.replace("  scoreRange: {min: 0, max: 1}\n", ""),
    },
    "pace: the upstream controller, and a demand without a lock": {
        **_case(
            beside_upstream(_settings()),
            _app("{scorer: cpu, demand: 5}"),
        ),
        "scorers": FULL.replace("  scoreRange: {min: 0, max: 1}\n", ""),
    },
    "pace: the upstream controller, and a demand with a lock": {
        **_case(
            beside_upstream(_settings()),
            _app("{scorer: cpu, demand: 5}"),
        ),
        "scorers": FULL.replace("  scoreRange: {min: 0, max: 1}\n", ""),
        "locks": LOCK,
    },
    "pace: the upstream controller, and verified moves": {
        **_case(
            beside_upstream(_settings()),
            _app("{scorer: cpu}", moves="verify: [{scorer: free, atLeast: 20}]"),
        ),
        "scorers": f"{SPANNED}---\n{OTHER}".replace("  scoreRange: {min: 0, max: 1}\n", ""),
    },
    "pace: values that are not allowed": _case(
        _settings(
            "concurrent: 0, arrivalsPerCluster: 1001, settleSeconds: -1, cooldownSeconds: many"
        ),
        _app("{scorer: cpu, demand: 201}", moves="pace: Slow"),
    ),
    "pace: a score with the name of moves": _case(
        _settings(), _app("{scorer: cpu}"), OTHER.replace("free_score", "gitops-dsf-moves")
    ),
}
