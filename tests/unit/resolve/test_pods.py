"""Tolerations, node selectors and resources in gitops-dsf.yaml: what is reported, and where."""

import pytest

from tests.unit.resolve.test_rules import BASE, findings

KEY = "write key, operator, value, effect or tolerationSeconds"
EVICTS = (
    "tolerationSeconds without the effect NoExecute, the only one that evicts",
    "write effect: NoExecute, or remove tolerationSeconds",
)
NO_KEY = ("a toleration without a key", "write the key of the taint, or operator: Exists for all taints")
ALPHA = "is an operator of tolerations that clusters refuse unless a feature gate is on"
SECONDS = "write whole seconds"


def said(field: str) -> list[tuple[str, str, str, str]]:
    """Code, marked text, message and hint of each finding about a reconciler with this field."""
    text = BASE["gitops-dsf.yaml"].replace("reconciler: {", f"reconciler: {{{field}, ")
    return [
        (
            item.code,
            text.splitlines()[item.position.line - 1][item.position.column - 1 :],
            item.message,
            item.hint,
        )
        for item in findings(settings=text)
    ]


@pytest.mark.parametrize(
    ("toleration", "marked", "words"),
    [
        ("operator: Exists", "", ()),
        ("key: a, operator: Exists, effect: PreferNoSchedule", "", ()),
        ("key: a, operator: Gt, value: '-7'", "Gt", (f"Gt {ALPHA}", "write Equal with one value")),
        ("key: a, operator: Lt", "Lt", (f"Lt {ALPHA}", "write Equal with one value")),
        ("key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 0", "", ()),
        ("key: a, operator: Equals", "Equals", ("Equals is no operator of a toleration", "write Exists or")),
        ("value: b", "{value", NO_KEY),
        ("operator: Equal", "{operator", NO_KEY),
        (
            "key: a, operator: Exists, value: b",
            "b",
            ("Exists does not compare values", "remove value, or write operator: Equal"),
        ),
        ("key: a, value: b c", "b c", ("b c is not a label value", "")),
        ("key: a, operator: Equal, value: b c", "b c", ("b c is not a label value", "")),
        ("key: a b", "a b", ("a b is not a label key", "")),
        (
            "key: a, effect: NoSelect",
            "NoSelect",
            ("NoSelect is no effect of a taint", "write NoSchedule, PreferNoSchedule, NoExecute"),
        ),
        ("key: a, tolerationSeconds: 5", "5", EVICTS),
        ("key: a, effect: NoSchedule, tolerationSeconds: 5", "5", EVICTS),
        (
            "key: a, effect: NoExecute, tolerationSeconds: true",
            "tolerationSeconds",
            ("tolerationSeconds is True", SECONDS),
        ),
        (
            "key: a, effect: NoExecute, tolerationSeconds: 1m",
            "tolerationSeconds",
            ("tolerationSeconds is 1m", SECONDS),
        ),
        ("key: a, Operator: Exists", "Operator", ("Operator is no field of a toleration", "did you mean op")),
        ("key: a, zzzzzz: b", "zzzzzz", ("zzzzzz is no field of a toleration", KEY)),
        ("key: a, value: true", "value", ("value is True, which is no text", "write it in quotes")),
        ("key: 7, effect: NoSelect", "key", ("key is 7, which is no text", "write it in quotes")),
    ],
)
def test_a_toleration(toleration: str, marked: str, words: tuple[str, ...]) -> None:
    found = said(f"tolerations: [{{{toleration}}}]")
    assert len(found) == bool(words)
    for code, there, message, hint in found:
        assert code == "DSF169"
        assert there.startswith(marked)
        assert message == words[0]
        assert hint.startswith(words[1])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{kubernetes.io/os: linux}", []),
        ("{kubernetes.io/os: 'a b'}", [("'a b'", "a b is not a label value")]),
        ("{a//b: c}", [("a//b", "a//b is not a label key")]),
        ("{'': 'a b'}", [("''", "an empty key is not a label key"), ("'a b'", "a b is not a label value")]),
    ],
)
def test_a_node_selector(selector: str, expected: list[tuple[str, str]]) -> None:
    found = said(f"nodeSelector: {selector}")
    assert [(code, message) for code, _, message, _ in found] == [("DSF169", words) for _, words in expected]
    assert all(item[1].startswith(mark) for item, (mark, _) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("100m", []),
        ("0.1", []),
        (
            "99m",
            [
                (
                    "DSF170",
                    "reconciler.resources: the request of 100m cpu is above the limit of 99m",
                    "write a larger limit, or a smaller request beside it",
                )
            ],
        ),
    ],
)
def test_a_request_may_be_as_large_as_its_limit(limit: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(f"resources: {{requests: {{cpu: 100m}}, limits: {{cpu: '{limit}'}}}}")
    assert [(code, message, hint) for code, _, message, hint in found] == expected
    assert all(there.startswith("'99m'") for _, there, _, _ in found)
