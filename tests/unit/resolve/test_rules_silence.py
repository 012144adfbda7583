"""Mistakes that would otherwise show on the hub or the spokes only, or nowhere: each with its code, the place
that `«` marks, and words.
"""

import pytest

from tests.unit.resolve.test_rules import BASE, findings, scorer
from tests.unit.resolve.test_rules_elsewhere import APP, LOCK, app, judged

SOURCE = "  source: {host: 'http://prom.svc', params: {query: '%s', range: 60, step: 60}}\n  scoreRange"
SETTINGS = BASE["gitops-dsf.yaml"]
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz"


def query(text: str) -> dict[str, str]:
    return {"scorers": scorer("  scoreRange", SOURCE % text)}


def scorers(old: str, new: str) -> dict[str, str]:
    return {"scorers": scorer(old, new)}


def settings(new: str) -> dict[str, str]:
    return {"settings": SETTINGS.replace("spec: {", f"spec: {{{new}, ")}


CASES: list[tuple[str, dict[str, str], str]] = [
    # queries
    ("DSF109", query("sum(up«; up"), "unexpected character: ';'"),
    ("DSF109", query("sum(up); «up up"), "invalid promql query"),
    ("DSF109", query('up{a="b"«; c="d"}'), "unexpected character inside braces: ';'"),
    ("DSF109", scorers("  scoreRange", SOURCE.replace("'%s'", "«' ; '")), "there is no expression in it"),
    # sources that nobody asks
    (
        "DSF122",
        scorers("  scoreRange", "  source: {host: «'http://prom.svc'}\n  scoreRange"),
        "there is no query",
    ),
    (
        "DSF122",
        scorers("  scoreRange", "  source: {type: None, params: {query: «up}}\n  scoreRange"),
        "source.type is None",
    ),
    (
        "DSF122",
        scorers("  scoreRange", "  source: {params: {query: '', range: «60}}\n  scoreRange"),
        "source.params.range has no effect",
    ),
    # placeholders
    (
        "DSF112",
        scorers("  scoreRange", "  scoreDimensionFormat: '${scoreName};«$node'\n  scoreRange"),
        "$node is not a placeholder",
    ),
    (
        "DSF112",
        scorers("  scoreRange", "  scoreDimensionFormat: '${scoreName};«${node'\n  scoreRange"),
        "${node is not a placeholder",
    ),
    (
        "DSF112",
        scorers("  scoreRange", "  scoreDimensionFormat: '${scoreName};«${'\n  scoreRange"),
        "${ is not a placeholder",
    ),
    # URLs
    (
        "DSF103",
        scorers("http://api.svc:8000/config", "«http://<NODE_IP>:30007/config"),
        "<node_ip> is not one",
    ),
    ("DSF103", scorers("http://api.svc:8000/config", "«http://${HOST}/config"), "${host} is not one"),
    ("DSF103", scorers("http://api.svc:8000/config", "«http://a..b/config"), "a..b is not one"),
    (
        "DSF104",
        scorers("http://api.svc:8000/config", "«https://api.example.com/config?access_token=abc"),
        "contains credentials",
    ),
    # secrets
    (
        "DSF105",
        scorers("{name: cpu}", f"{{name: cpu, annotations: {{a: «{TOKEN}}}}}"),
        "metadata.annotations.a looks like a secret",
    ),
    (
        "DSF105",
        {
            "apps": app(
                "path: deploy}", f"path: deploy, helm: {{parameters: [{{name: a, value: «{TOKEN}}}]}}}}"
            )
        },
        "helm.parameters[0].value looks like a secret",
    ),
    (
        "DSF105",
        {
            "scorers": scorer("None", "Full"),
            "locks": LOCK.replace("config: {}", f"config: {{description: «{TOKEN}}}"),
        },
        "spec.config.description looks like a secret",
    ),
    # labels
    (
        "DSF016",
        {"clusters": BASE["clusters/c.yaml"].replace("env: prod", "env: «'a b'")},
        "metadata.labels.env: a b is not allowed",
    ),
    (
        "DSF016",
        {"clusters": BASE["clusters/c.yaml"].replace("env: prod", "«'e nv': prod")},
        "metadata.labels: e nv is not allowed",
    ),
    (
        "DSF016",
        scorers("{name: cpu}", "{name: cpu, annotations: {«a/b/c: d}}"),
        "metadata.annotations: a/b/c is not allowed",
    ),
    # applications
    (
        "DSF014",
        {"apps": app(", path: deploy", "").replace("source:", "«source:")},
        "has neither path nor chart",
    ),
    (
        "DSF014",
        {"apps": app(", path: deploy", ", ref: x").replace("source:", "«source:")},
        "has neither path nor chart",
    ),
    (
        "DSF014",
        {"apps": app("path: deploy", "chart: web").replace("source:", "«source:")},
        "targetRevision is missing",
    ),
    (
        "DSF016",
        {"apps": app('"https://git.example.com/web.git"', '«"ext::sh -c id"')},
        "would start a program",
    ),
    # settings
    (
        "DSF016",
        {"settings": SETTINGS.replace('"https://git.example.com/fleet.git"', "«fleet")},
        "nothing that Argo CD could clone",
    ),
    (
        "DSF016",
        {
            "settings": SETTINGS.replace(
                '"https://git.example.com/fleet.git"', "«ssh://-oProxyCommand=x/fleet"
            )
        },
        "nothing that Argo CD could clone",
    ),
    (
        "DSF016",
        {"settings": SETTINGS.replace('"https://git.example.com/fleet.git"', "«fd::3")},
        "nothing that Argo CD could clone",
    ),
    ("DSF016", settings("output: {mode: Branch, branch: «main}"), "which people write"),
    ("DSF016", settings("output: {mode: Branch, branch: «a..b}"), "a..b is not allowed"),
    ("DSF016", settings("agent: {image: «'a b'}"), "a b is not allowed"),
    (
        "DSF016",
        settings("agent: {egress: {apiServerPorts: «[6443]}}"),
        "has no effect while egress.mode is Open",
    ),
    ("DSF016", settings("agent: {egress: {rules: «[{to: []}]}}"), "has no effect while egress.mode is Open"),
    (
        "DSF016",
        settings("agent: {egress: {mode: Limited, rules: «[{from: []}]}}"),
        "from is no field of an egress rule",
    ),
    ("DSF016", settings("agent: {resources: {limits: {memory: «10XB}}}"), "10XB is not allowed"),
    ("DSF016", settings("allowedHosts: [«'https://a.example.com']"), "https://a.example.com is not allowed"),
    (
        "DSF016",
        settings("reconciler: {state: {enabled: true, branch: «main}}"),
        "its content would be replaced",
    ),
    (
        "DSF016",
        settings("reconciler: {proposals: {kinds: [Locks]}, state: {enabled: true, branch: «gitops-dsf}}"),
        "which git cannot have at once",
    ),
]


@pytest.mark.parametrize(("code", "marked", "words"), CASES)
def test_nothing_is_passed_over_in_silence(code: str, marked: dict[str, str], words: str) -> None:
    found, places = judged(marked)
    matching = [item for item in found if words in item.message]
    assert [item.code for item in matching] == [code]
    assert places == {(item.position.line, item.position.column) for item in matching}


@pytest.mark.parametrize(
    "changes",
    [
        scorers("http://api.svc:8000/config", "http://[::1]:8000/config"),
        scorers("http://api.svc:8000/config", "http://10.0.0.7:30007/config"),
        scorers("http://api.svc:8000/config", "http://bücher.example.com./config?fleet=a&token="),
        scorers("http://api.svc:8000/config", "http://scoring_api:8000/config"),
        scorers(
            "  scoreRange",
            "  source: {type: None, host: '', path: '', params: {query: '', range: 0, step: 0}}\n "
            " scoreRange",
        ),
        scorers("  scoreRange", "  scoreDimensionFormat: '$5;$nodes;${scoreName}'\n  scoreRange"),
        scorers(
            "{name: cpu}", "{name: cpu, annotations: {Example.com/a: 'any text at all'}, labels: {a: ''}}"
        ),
        {
            "apps": (
                app("source: {", "sources: [{").replace(
                    "deploy}", "deploy}, {repoURL: 'https://a.example.com/b.git', ref: values}]"
                )
            )
        },
        {"apps": app("path: deploy", "chart: web, targetRevision: 1.x")},
        {"apps": app("path: deploy", "path: .")},
        settings("output: {mode: Branch, branch: rendered/eu-1}"),
        {
            "settings": SETTINGS.replace(
                "agent: {image: r.example.com/agent}",
                "agent: {image: 'registry:5000/a/b@sha256:abc', resources: {limits: {cpu: '2'}}}",
            )
        },
        settings("allowedHosts: ['*.example.com', 10.0.0.7]"),
        *(
            {"settings": SETTINGS.replace("https://git.example.com/fleet.git", url)}
            for url in ("git@host:a/b.git", "ssh://git@host/a", "/srv/git/a.git")
        ),
    ],
)
def test_what_is_right_is_left_alone(changes: dict[str, str]) -> None:
    assert [(item.code, item.message) for item in findings(**changes)] == []


def test_a_format_with_an_unknown_placeholder_is_one_mistake() -> None:
    text = scorer("  scoreRange", "  scoreDimensionFormat: '${scorename}'\n  scoreRange")
    assert [item.code for item in findings(scorers=text, apps=APP)] == ["DSF112"]
