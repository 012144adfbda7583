"""Branches of the rules that docs/reference/diagnostics.md has no room for: code, place and words of each."""

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.rules.registry import RULES
from gitops_dsf.resolve.rules.selectors import label_key, label_value

IMAGES = ", agent: {image: r.example.com/agent}, reconciler: {image: r.example.com/reconciler}"
"""Images of a registry, in gitops-dsf.yaml below."""
BASE = {
    "gitops-dsf.yaml": (
        f"""\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {{name: fleet}}
spec: {{git: {{url: "https://git.example.com/fleet.git"}}{IMAGES}}}
"""
    ),
    "clusters/c.yaml": (
        """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-1, labels: {env: prod}}
"""
    ),
    "scorers/s.yaml": (
        """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  configURL: http://api.svc:8000/config
  configSyncMode: None
  scoring: {params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
    ),
}


def findings(**changes: str) -> list[Diagnostic]:
    names = {"settings": "gitops-dsf.yaml", "clusters": "clusters/c.yaml", "scorers": "scorers/s.yaml"}
    texts = {**BASE, **{names.get(key, f"{key}/x.yaml"): text for key, text in changes.items()}}
    loaded = [load_text(text, file=file) for file, text in texts.items()]
    everything = Loaded(
        documents=tuple(document for part in loaded for document in part.documents),
        diagnostics=tuple(item for part in loaded for item in part.diagnostics),
    )
    return resolve(declare(everything))[1]


def codes(**changes: str) -> list[str]:
    return [item.code for item in findings(**changes)]


def scorer(old: str, new: str) -> str:
    assert old in BASE["scorers/s.yaml"]
    return BASE["scorers/s.yaml"].replace(old, new)


def test_the_base_has_no_findings() -> None:
    assert findings() == []


def test_every_rule_is_listed_once_and_explains_itself() -> None:
    assert len(set(RULES)) == len(RULES)
    assert all(rule.__doc__ for rule in RULES)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://api.svc:8000", []),
        ("https://[::1]:8443/config", []),
        ("https://api.example.com/config?fleet=a", []),
        ("ftp://api.svc/config", ["DSF103"]),
        ("http:///config", ["DSF103"]),
        ("http://api.svc:port/config", ["DSF103"]),
        ("http://[::1/config", ["DSF103"]),
        ("http://a b/config", ["DSF103"]),
        ("https://token@api.example.com/config", ["DSF104"]),
    ],
)
def test_config_urls(url: str, expected: list[str]) -> None:
    text = scorer("http://api.svc:8000/config", f"'{url}'").replace(
        "  scoring: {", "  scoring: {host: 'http://api.svc:8000', "
    )
    assert codes(scorers=text) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("http://a:1/base", []),
        ("http://a:1?x=1", ["DSF103"]),
        ("http://a:1/#x", ["DSF103"]),
        ("https://u:p@a", ["DSF104"]),
    ],
)
def test_hosts(host: str, expected: list[str]) -> None:
    assert codes(scorers=scorer("scoring: {", f"scoring: {{host: '{host}', ")) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://git.example.com/a.git", []),
        ("ssh://git@git.example.com/a.git", []),
        ("git@git.example.com:a.git", []),
        ("https://user:pass@git.example.com/a.git", ["DSF104"]),
        ("https://token@git.example.com/a.git", ["DSF104"]),
        ("ssh://git:pass@git.example.com/a.git", ["DSF104"]),
    ],
)
def test_git_urls_hold_no_credentials(url: str, expected: list[str]) -> None:
    assert (
        codes(settings=BASE["gitops-dsf.yaml"].replace("https://git.example.com/fleet.git", url)) == expected
    )


DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("agent", "reconciler", "expected"),
    [
        (f"r.example.com:5000/agent@{DIGEST}", f"r.example.com/reconciler:1.0@{DIGEST}", []),
        ("r.example.com:5000/agent:1.0", f"r.example.com/reconciler@{DIGEST}", ["agent"]),
        (f"agent@{DIGEST}", "r.example.com/reconciler", ["reconciler"]),
        (f"agent@{DIGEST[:-1]}", f"reconciler@{DIGEST}0", ["agent", "reconciler"]),
        (f"agent@{DIGEST.upper()}", f"reconciler{DIGEST}", ["agent", "reconciler"]),
        ("agent@sha512:" + "0a" * 64, f"reconciler@{DIGEST}@", ["agent", "reconciler"]),
    ],
)
def test_images_without_a_digest(agent: str, reconciler: str, expected: list[str]) -> None:
    images = f"agent: {{image: '{agent}'}}, reconciler: {{image: '{reconciler}'}}"
    settings = BASE["gitops-dsf.yaml"].replace(IMAGES, "")
    text = settings.replace("spec: {", f"spec: {{{images}, requireImageDigests: true, ")
    found = findings(settings=text)
    assert [item.code for item in found] == ["DSF157"] * len(expected)
    assert [item.message.partition(", but ")[2].partition(".")[0] for item in found] == expected
    assert all(str(item.position).startswith("gitops-dsf.yaml:4:") for item in found)
    assert codes(settings=text.replace("requireImageDigests: true, ", "")) == []


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", ["DSF157", "DSF157"]),
        ("reconciler: {enabled: false}, ", ["DSF157"]),
        ("reconciler: {enabled: false}, delivery: {mode: UpstreamController}, ", []),
    ],
)
def test_only_images_that_are_rendered_need_a_digest(rest: str, expected: list[str]) -> None:
    """The defaults are named by tag."""
    settings = BASE["gitops-dsf.yaml"].replace(IMAGES, "")
    text = settings.replace("spec: {", f"spec: {{{rest}requireImageDigests: true, ")
    assert [
        code
        for code in codes(settings=text, scorers=scorer("  scoreRange: {min: 0, max: 1}\n", ""))
        if code == "DSF157"
    ] == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{model: small, keyboard: large, monkey: chimp, tokens: 'many of them'}", []),
        ("{maxTokens: '4096', apiKeyRef: name}", []),
        ("{nested: [{openaiApiKey: sk-123456}]}", ["DSF105"]),
        ("{password: hunter22}", ["DSF105"]),
        ("{access_token: abcdefgh}", ["DSF105"]),
        ("{header: 'Bearer abcdefghijkl'}", ["DSF105"]),
        ("{pem: '-----BEGIN RSA PRIVATE KEY-----'}", ["DSF105"]),
        ("{password: ''}", []),
    ],
)
def test_secrets_in_arguments(arguments: str, expected: list[str]) -> None:
    assert codes(scorers=scorer("scoring: {", f"scoring: {{arguments: {arguments}, ")) == expected


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ("{token: abcdefgh}", ["DSF105", "DSF013"]),
        ("{tokenSecretRef: {name: a, key: b, value: abcdefgh}}", ["DSF013", "DSF105"]),
        ("{serviceAccountToken: 'true'}", ["DSF015"]),
        ("{tokenSecretRef: {name: token, key: token}}", []),
    ],
)
def test_a_token_in_place_of_a_reference_is_a_secret(auth: str, expected: list[str]) -> None:
    text = scorer("scoring: {", f"scoring: {{auth: {auth}, ")
    assert sorted(codes(scorers=text)) == sorted(expected)


def masks(text: str) -> str:
    return (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScoringConfig\n"
        f"metadata: {{name: dynamic-scoring-config}}\nspec: {{masks: [{text}]}}\n"
    )


@pytest.mark.parametrize(
    ("mask", "expected", "hint"),
    [
        ("{clusterName: prod1, scoreName: cpu_score}", "DSF201", "did you mean prod-1?"),
        ("{clusterName: prod-1, scoreName: cpu_scor}", "DSF202", "did you mean cpu_score?"),
        ("{clusterName: prod-1, scoreName: cpu}", "DSF202", "cpu is the scorer; its score is cpu_score"),
        ("{clusterName: prod-1, scoreName: zzz}", "DSF202", "scores here: cpu_score"),
        ("{clusterName: prod-1, scoreName: 'z*'}", "DSF203", "scores here: cpu_score"),
        (
            "{clusterSelector: {matchLabels: {env: edge}}, scoreName: cpu_score}",
            "DSF203",
            "correct the labels",
        ),
    ],
)
def test_masks_that_name_nothing(mask: str, expected: str, hint: str) -> None:
    [item] = findings(config=masks(mask))
    assert item.code == expected
    assert item.hint.startswith(hint)


def test_masks_are_not_blamed_for_objects_that_have_mistakes_of_their_own() -> None:
    assert codes(
        config=masks("{clusterName: prod-1, scoreName: other}"), scorers=scorer("interval: 60", "interval: x")
    ) == ["DSF015"]
    broken = BASE["clusters/c.yaml"].replace("{env: prod}", "[env]")
    assert codes(config=masks("{clusterName: prod-1, scoreName: cpu_score}"), clusters=broken) == ["DSF015"]


def placement(spec: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p,"
        f" namespace: argocd}}\nspec: {spec}\n"
    )


def policy(configurations: str, mode: str = "Exact") -> str:
    steady = "{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 1}"
    return placement(f"{{prioritizerPolicy: {{mode: {mode}, configurations: [{configurations}, {steady}]}}}}")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{}", []),
        ("{numberOfClusters: 0}", ["DSF312"]),
        ("{numberOfClusters: two}", ["DSF321"]),
        ("{prioritizerPolicy: {mode: Exact, configuration: []}}", ["DSF013"]),
        ("{predicates: [{requiredClusterSelectr: {}}]}", ["DSF013"]),
        ("{predicates: [{requiredClusterSelector: {labelSelector: {matchLabel: {a: b}}}}]}", ["DSF013"]),
        ("{tolerations: [{key: a, operatr: Exists}]}", ["DSF013"]),
        (
            (
                "{spreadPolicy: {spreadConstraints: [{topologyKey: region, topologyKeyType: Label, maxSkew:"
                " 1}]}}"
            ),
            ["DSF325"],
        ),
        ("{numberOfCluster: 1}", ["DSF013"]),
        ("{clusterSets: [default, global]}", []),
        ("{clusterSets: [globl]}", ["DSF309"]),
        ("{tolerations: [{key: a, operator: Exist}]}", ["DSF321"]),
        (
            (
                "{tolerations: [{operator: Exists}, {key: a}, {key: a, operator: Equal, value: b, effect:"
                " NoSelect}]}"
            ),
            [],
        ),
        ("{tolerations: [{operator: Equal, value: x}]}", ["DSF315"]),
        ("{tolerations: [{operator: Exists, effect: NoSchedule}]}", ["DSF321"]),
        ("{tolerations: [a]}", ["DSF321"]),
        ("{decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: '5'}}}", ["DSF314"]),
        ("{decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 25%}}}", []),
        ("{decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 101%}}}", ["DSF321"]),
        ("{decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: a}]}}}", ["DSF014", "DSF321"]),
        ("{predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {a b: c}}}}]}", ["DSF206"]),
        (
            (
                "{predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: a,"
                " operator: Gt}]}}}]}"
            ),
            ["DSF206"],
        ),
        (
            (
                "{predicates: [{requiredClusterSelector: {celSelector: {celExpressions:"
                " ['managedCluster.scores(\"a\").size() > 0']}}}]}"
            ),
            ["DSF316"],
        ),
        ("{prioritizerPolicy: {mode: exact}}", ["DSF313"]),
        ("{prioritizerPolicy: {configurations: []}}", ["DSF317"]),
    ],
)
def test_raw_placements(spec: str, expected: list[str]) -> None:
    assert codes(apps=placement(spec)) == expected


ADD_ON = "{type: AddOn, addOn: {resourceName: cpu-score, scoreName: cpu_score}}"


@pytest.mark.parametrize(
    ("configurations", "expected"),
    [
        (f"{{scoreCoordinate: {ADD_ON}, weight: 5}}", []),
        (f"{{scoreCoordinate: {ADD_ON}, weight: 11}}", ["DSF321"]),
        (f"{{scoreCoordinate: {ADD_ON}}}", ["DSF317"]),
        (f"{{scoreCoordinate: {ADD_ON}, weight: 5}}, {{scoreCoordinate: {ADD_ON}, weight: 5}}", ["DSF308"]),
        ("{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 2}", ["DSF308"]),
        ("{scoreCoordinate: {builtIn: Balance}, weight: 2}", ["DSF317"]),
        (f"{{scoreCoordinate: {ADD_ON.replace('type: AddOn, ', '')}, weight: 5}}", ["DSF313", "DSF317"]),
        (f"{{scoreCoordinate: {ADD_ON}, weight: -5}}", ["DSF304"]),
        ("{scoreCoordinate: {type: BuiltIn}, weight: 2}", ["DSF313"]),
        (
            "{scoreCoordinate: {type: Addon, addOn: {resourceName: a, scoreName: b}}, weight: 2}",
            ["DSF321", "DSF323"],
        ),
        ("{scoreCoordinate: {type: AddOn}, weight: 2}", ["DSF313"]),
        (
            "{scoreCoordinate: {type: AddOn, addOn: {resourceName: cpu-score, scoreName: ''}}, weight: 2}",
            ["DSF303"],
        ),
        (
            (
                "{scoreCoordinate: {type: AddOn, addOn: {resourceName: cpu_score, scoreName: cpu_score}},"
                " weight: 2}"
            ),
            ["DSF301"],
        ),
        (
            "{scoreCoordinate: {type: AddOn, addOn: {resourceName: usage, scoreName: a}}, weight: 2}",
            ["DSF323"],
        ),
        (
            "{scoreCoordinate: {type: AddOn, addOn: {resourceName: cpu-score, scoreName: other}}, weight: 2}",
            ["DSF303"],
        ),
        ("3", ["DSF321"]),
    ],
)
def test_prioritizers(configurations: str, expected: list[str]) -> None:
    assert codes(apps=policy(configurations)) == expected


def test_a_scorer_without_a_range_can_lose_to_a_missing_score() -> None:
    wide = scorer("  scoreRange: {min: 0, max: 1}\n", "")
    assert codes(scorers=wide, apps=policy(f"{{scoreCoordinate: {ADD_ON}, weight: 5}}")) == ["DSF304"]


def test_a_placement_is_not_blamed_for_a_scorer_that_is_not_complete() -> None:
    incomplete = scorer("interval: 60", "interval: 0")
    assert "DSF323" not in codes(scorers=incomplete, apps=policy(f"{{scoreCoordinate: {ADD_ON}, weight: 5}}"))


TEMPLATE = (
    "template: {metadata: {name: a}, spec: {project: a, destination: {name: a}, source: {repoURL: a, path:"
    " a}}}"
)


def application_set(generator: str, rest: str = "syncPolicy: {applicationsSync: create-update}") -> str:
    spec = f"{{{rest}, {TEMPLATE}, generators: [{generator}]}}"
    return f"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a}}\nspec: {spec}\n"


LABELS = "labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: p}}"
CONFIG = "configMapRef: gitops-dsf-placement-decisions"


@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        (f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}", []),
        (
            (
                f"{{merge: {{generators: [{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}, {{clusters:"
                " {}}], mergeKeys: [name]}}"
            ),
            [],
        ),
        ("{clusters: {}}", []),
        (f"{{clusterDecisionResource: {{{LABELS}}}}}", ["DSF014"]),
        (f"{{clusterDecisionResource: {{{CONFIG}, name: p-decision-1, {LABELS}}}}}", ["DSF402"]),
        (f"{{clusterDecisionResource: {{{CONFIG}, labelSelector: {{matchLabels: {{a: b}}}}}}}}", ["DSF402"]),
        (f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', ': q}')}}}}}", ["DSF407"]),
        ("{clusterDecisionResource: 3}", ["DSF321"]),
    ],
)
def test_generators(generator: str, expected: list[str]) -> None:
    assert sorted(codes(apps=f"{placement('{}')}---\n{application_set(generator)}")) == sorted(expected)


def test_applications_may_be_kept_by_either_policy() -> None:
    generator = f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}"
    for rest, expected in (
        ("syncPolicy: {preserveResourcesOnDeletion: true}", []),
        ("syncPolicy: {applicationsSync: create-only}", []),
        ("syncPolicy: {applicationsSync: create-delete}", ["DSF406"]),
        ("goTemplate: true", ["DSF406"]),
    ):
        assert codes(apps=f"{placement('{}')}---\n{application_set(generator, rest)}") == expected


def test_a_placement_that_an_application_set_follows_is_in_the_argocd_namespace() -> None:
    elsewhere = placement("{}").replace("namespace: argocd", "namespace: default")
    assert codes(apps=elsewhere) == []
    [item] = findings(
        apps=f"{elsewhere}---\n{application_set(f'{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}')}"
    )
    assert (item.code, str(item.position)) == ("DSF401", "apps/x.yaml:3:32")


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("env", True),
        ("a.b/c_d", True),
        ("/a", False),
        ("a/", False),
        ("A.b/c", False),
        ("a" * 64, False),
        ("", False),
    ],
)
def test_label_keys(key: str, good: bool) -> None:
    assert label_key(key) is good


@pytest.mark.parametrize(
    ("value", "good"),
    [("", True), ("a_B.9", True), ("-a", False), ("a b", False), ("a" * 63, True), ("a" * 64, False)],
)
def test_label_values(value: str, good: bool) -> None:
    assert label_value(value) is good


def test_the_codes_of_a_hundred_start_with_its_digit() -> None:
    assert list(CODES) == sorted(CODES)
    assert {code[3] for code in CODES} <= set("0123456")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "  scoreRange",
            "  clusterSelector: {matchExpressions: [{key: env, operator: In}]}\n  scoreRange",
            ["DSF206"],
        ),
        ("  scoreRange", "  clusterSelector: {matchLabels: {env: 'a b'}}\n  scoreRange", ["DSF206"]),
        ("http://api.svc:8000/config", "api.svc:8000/config", ["DSF103"]),
    ],
)
def test_one_mistake_is_one_finding(old: str, new: str, expected: list[str]) -> None:
    """An invalid selector that finds nothing, and a configURL that is none and from which no host can be
    taken.
    """
    assert codes(scorers=scorer(old, new)) == expected


MANY_CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: c{}, labels:"
    " {{half: h{}}}}}\n"
)
MANY = "---\n".join(MANY_CLUSTER.format(number, number % 2) for number in range(202))
HALF = "predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {half: h1}}}}]"
CEL = (
    "predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['managedCluster.metadata.name !="
    ' "c1"\']}}}]'
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{clusterSets: [global]}", [("DSF320", "apps/x.yaml:4:8")]),
        ("{clusterSets: [global], numberOfClusters: 101}", [("DSF320", "apps/x.yaml:4:31")]),
        ("{clusterSets: [global], numberOfClusters: 100}", []),
        ("{numberOfClusters: 101}", [("DSF320", "apps/x.yaml:4:8")]),
        ("{}", []),
        (f"{{clusterSets: [global], {HALF}}}", [("DSF320", "apps/x.yaml:4:8")]),
        (f"{{clusterSets: [global], {HALF.replace('h1', 'h2')}}}", []),
        (f"{{clusterSets: [global], {CEL}}}", []),
        (f"{{clusterSets: [global], numberOfClusters: 150, {CEL}}}", [("DSF320", "apps/x.yaml:4:31")]),
    ],
)
def test_raw_placements_of_more_than_a_hundred_clusters(spec: str, expected: list[tuple[str, str]]) -> None:
    """As far as it can be known: 202 clusters, half of them h1."""
    assert [
        (item.code, str(item.position)) for item in findings(clusters=MANY, apps=placement(spec))
    ] == expected


def test_all_findings_of_a_repository_appear_in_one_run() -> None:
    """Of every stage, in every kind: what cannot be read hides neither its neighbours nor what they
    refer to.
    """
    incomplete = scorer("interval: 60", "interval: 0").replace("description: d", "descripton: d")
    text = f"{BASE['scorers/s.yaml']}---\n{incomplete.replace('name: cpu}', 'name: gpu}').replace('cpu_score', 'gpu_score')}"  # noqa: E501
    query = scorer("scoring:", "source: {host: 'http://p', params: {query: 'up(', step: 0}}\n  scoring:")
    text += f"---\n{query.replace('name: cpu}', 'name: net}').replace('cpu_score', 'net_score')}"
    found = findings(
        settings=BASE["gitops-dsf.yaml"].replace("git.example.com", "user:pass@git.example.com"),
        scorers=text,
        clusters=(
            f"{BASE['clusters/c.yaml']}---\nkind:"
            f" [\n---\n{BASE['clusters/c.yaml'].replace('prod-1', 'edge_1')}"
        ),
        config=masks(
            "{clusterName: prod-1, scoreName: cpu_score}, {clusterName: prod-1, scoreName: cpu_score}"
        ),
        apps=f"{placement('{numberOfClusters: 0}')}---\n{application_set('{clusterDecisionResource: {}}')}",
    )
    assert sorted({item.code for item in found}) == [
        *(
            "DSF001",
            "DSF013",
            "DSF014",
            "DSF016",
            "DSF104",
            "DSF107",
            "DSF109",
            "DSF204",
            "DSF312",
            "DSF402",
        )
    ]
