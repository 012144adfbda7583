"""Rules in their less common turns: each with its code, the place that `«` marks, and words.

Aspects covered: raw documents, upstream mode, dimensions, locks, masks, selectors, references, URLs, queries.
"""

import pytest

from gitops_dsf.diagnostics import Diagnostic
from tests.unit.resolve.test_rules import BASE, application_set, findings, masks, placement, scorer

APP = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application: {source: {repoURL: "https://git.example.com/web.git", path: deploy}, destinationNamespace: web}
  placement: {numberOfClusters: 1}
  scores: [{scorer: cpu}]
"""
LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: cpu}
spec: {configURL: http://api.svc:8000/config, config: {}}
"""
UPSTREAM = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {delivery: {mode: UpstreamController}, ")


def asking(query: str, *, span: str = "range: 60, ") -> str:
    quote = '"' if "\\n" in query else "'"
    return scorer(
        "  scoreRange: {min: 0, max: 1}\n",
        f"  source: {{host: http://prom:9090, params: {{query: {quote}{query}{quote}, {span}step: 60}}}}\n",
    )


BARE = scorer("  scoreRange: {min: 0, max: 1}\n", "")
FULL = scorer("configSyncMode: None", "configSyncMode: Full")


def app(old: str, new: str) -> str:
    assert old in APP
    return APP.replace(old, new)


def judged(marked: dict[str, str]) -> tuple[list[Diagnostic], set[tuple[int, int]]]:
    """The findings, and the marked places as line and column."""
    places = set()
    for text in marked.values():
        before, mark, _ = text.partition("«")
        if mark:
            places.add((before.count("\n") + 1, len(before) - before.rfind("\n")))
    return findings(**{name: text.replace("«", "") for name, text in marked.items()}), places


CASES: list[tuple[str, dict[str, str], str]] = [
    (
        "DSF203",
        {"config": masks("{clusterName: «'x-*', scoreName: cpu_score}")},
        "x-* matches no cluster of the inventory",
    ),
    (
        "DSF022",
        {
            "settings": UPSTREAM,
            "scorers": BARE,
            "config": masks("{clusterName: «'prod-*', scoreName: cpu_score}"),
        },
        "compares names",
    ),
    (
        "DSF022",
        {
            "settings": UPSTREAM,
            "scorers": BARE,
            "config": masks("{«clusterSelector: {matchLabels: {env: prod}}, scoreName: cpu_score}"),
        },
        "upstream's masks have no clusterSelector",
    ),
    *(
        ("DSF123", {"settings": UPSTREAM, "scorers": asking(query)}, words)
        for query, words in (
            ('sum(up{job="a«;b"})', "cuts the query at this `;`"),
            ("sum(up) # busy«; or not\\n", "cuts the query at this `;`"),
            ("up; down«;", "sends an empty expression here"),
            ("up; «; down", "sends an empty expression here"),
            ("«; up", "sends an empty expression here"),
        )
    ),
    (
        "DSF123",
        {"settings": UPSTREAM, "scorers": asking("up", span="range: «0, ")},
        "range is 0: upstream's controller silently skips the scorer",
    ),
    (
        "DSF123",
        {"settings": UPSTREAM, "scorers": asking("up", span="").replace("params: {query", "«params: {query")},
        "range is missing",
    ),
    (
        "DSF123",
        {
            "settings": UPSTREAM,
            "scorers": asking("up").replace("prom:9090,", "prom:9090, path: «/api/v1/query,"),
        },
        "reads range queries only",
    ),
    (
        "DSF123",
        {
            "settings": UPSTREAM,
            "scorers": FULL.replace("  scoreRange: {min: 0, max: 1}\n", ""),
            "locks": LOCK.replace(
                "config: {}",
                "config: {scoring: {host: «http://api.svc:9000}, source: {host: http://prom:9090}}",
            ),
        },
        "sends scoring requests to its source host: http://prom:9090",
    ),
    (
        "DSF114",
        {"scorers": FULL.replace("Full", "«Full")},
        "what its /config says is not known; the spec alone counts",
    ),
    (
        "DSF118",
        {"locks": LOCK.replace("name: cpu", "name: «cpus")},
        "there is no DynamicScorer cpus for this lock",
    ),
    (
        "DSF118",
        {"scorers": FULL, "locks": LOCK.replace("http://api.svc:8000/config,", "«http://old.svc/config,")},
        "this lock was taken from http://old.svc/config",
    ),
    (
        "DSF118",
        {"locks": LOCK.replace("name: cpu", "name: «cpu")},
        "cpu has configSyncMode None: this lock is not read",
    ),
    (
        "DSF302",
        {
            "apps": app("scorer: cpu", "scorer: «cpu"),
            "config": masks("{clusterName: prod-1, scoreName: cpu_score}"),
        },
        "none of the 1",
    ),
    (
        "DSF302",
        {
            "apps": app("scorer: cpu", "scorer: «cpu"),
            "scorers": scorer("  scoring", "  scoreDestination: None\n  scoring"),
        },
        "cpu has scoreDestination None",
    ),
    (
        "DSF303",
        {"apps": app("scorer: cpu", "scorer: cpu, dimension: «other")},
        "cpu names its items ${scoreName}, which never gives other",
    ),
    (
        "DSF301",
        {"apps": app("scorer: cpu", "scorer: «cpu"), "scorers": FULL.replace(", interval: 60", "")},
        "cpu waits for its lock: nothing will publish this score",
    ),
    ("DSF301", {"apps": app("scorer: cpu", "scorer: «cpu_score")}, "there is no DynamicScorer cpu_score"),
    (
        "DSF311",
        {"apps": placement("{}").replace("name: p", f"name: «{'p' * 64}")},
        "64 characters; OCM labels its decisions with the name",
    ),
    (
        "DSF324",
        {
            "apps": placement(
                "{predicates: [{requiredClusterSelector: {celSelector: {celExpressions: [«'']}}}]}"
            )
        },
        "an empty CEL",
    ),
    ("DSF321", {"apps": placement("{predicates: [«3]}")}, "spec.predicates[0] must be an object"),
    ("DSF321", {"apps": placement("{clusterSets: [«3]}")}, "spec.clusterSets[0] must be text"),
    (
        "DSF401",
        {"apps": application_set("{clusters: {}}").replace("{name: a}", "{name: a, namespace: «web}")},
        "decisions are looked up in argocd, the Argo CD namespace, never in web",
    ),
    (
        "DSF206",
        {"scorers": scorer("  scoreRange", "  clusterSelector: {matchLabels: {«'a b': c}}\n  scoreRange")},
        "a b is not a label key",
    ),
    (
        "DSF206",
        {
            "apps": placement(
                "{predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: a,"
                " operator: «in}]}}}]}"
            )
        },
        "the operator in does not exist",
    ),
    (
        "DSF206",
        {
            "scorers": scorer(
                "  scoreRange",
                "  clusterSelector: {matchExpressions: [{key: a, operator: Exists, «values: [b]}]}\n "
                " scoreRange",
            )
        },
        "Exists takes no values",
    ),
    (
        "DSF321",
        {
            "apps": placement(
                "{predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: a,"
                " operator: In, values: «b}]}}}]}"
            )
        },
        "values must be a list",
    ),
    (
        "DSF206",
        {
            "scorers": scorer(
                "  scoreRange",
                "  clusterSelector: {matchExpressions: [{key: a, operator: In, values: [«'b c']}]}\n "
                " scoreRange",
            )
        },
        "b c is not a label value",
    ),
    (
        "DSF103",
        {"scorers": scorer("scoring: {", "scoring: {path: «score?x=1, ")},
        "scoring.path: score?x=1 is not a path",
    ),
    (
        "DSF103",
        {"scorers": scorer("scoring: {", "scoring: {host: «'http://a?x=1', ")},
        "scoring.host: a host URL has no query",
    ),
    (
        "DSF104",
        {"apps": app('"https://git.example.com/web.git"', '«"https://me:secret@git.example.com/web.git"')},
        "repoURL",
    ),
    (
        "DSF109",
        {
            "scorers": scorer(
                "  scoring",
                f"  source: {{host: 'http://p', params: {{step: 60, range: 60, query: «'{'u' * 66_000}'}}}}\n"
                "  scoring",
            )
        },
        "more than 65536 characters",
    ),
]


@pytest.mark.parametrize(
    ("code", "marked", "words"), CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)]
)
def test_the_place_and_the_words(code: str, marked: dict[str, str], words: str) -> None:
    found, places = judged(marked)
    ours = [item for item in found if item.code == code]
    assert [(item.position.line, item.position.column) for item in ours] == sorted(places), found
    assert words in ours[0].message


def test_a_missing_score_loses_to_no_real_one_where_it_excludes() -> None:
    """Without a scoreRange a score may be negative; Exclude keeps a cluster without it out."""
    assert [item.code for item in findings(scorers=BARE, apps=APP)] == ["DSF304"]
    assert findings(scorers=BARE, apps=APP + "  onMissingScore: Exclude\n") == []


def test_a_label_value_that_is_no_text_is_to_be_quoted() -> None:
    expressions = (
        "{predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: a, operator: In,"
        " values: [true, 3]}]}}}]}"
    )
    assert [item.hint for item in findings(apps=placement(expressions))] == [
        'quote it: "true"',
        'quote it: "3"',
    ]
