"""Tolerations, node selectors and resources in gitops-dsf.yaml: what is reported, and where."""

import pytest

from tests.unit.resolve.test_rules import BASE, findings


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
    ("toleration", "marked", "code"),
    [
        ("operator: Exists", "", ""),
        ("key: a, operator: Exists, effect: PreferNoSchedule", "", ""),
        ("key: a, operator: Gt, value: '-7'", "Gt", "DSF016"),
        ("key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 0", "", ""),
        ("value: b", "{value", "DSF016"),
        ("operator: Equal", "{operator", "DSF016"),
        ("key: a, operator: Exists, value: b", "b", "DSF016"),
        ("key: a, value: b c", "b c", "DSF016"),
        ("key: a b", "a b", "DSF016"),
        ("key: a, effect: NoSelect", "NoSelect", "DSF016"),
        ("key: a, tolerationSeconds: 5", "5", "DSF016"),
        ("key: a, effect: NoSchedule, tolerationSeconds: 5", "5", "DSF016"),
        ("key: a, effect: NoExecute, tolerationSeconds: 1m", "1m", "DSF015"),
        ("key: a, Operator: Exists", "Operator", "DSF013"),
        ("key: a, value: true", "true", "DSF015"),
    ],
)
def test_a_toleration(toleration: str, marked: str, code: str) -> None:
    found = said(f"tolerations: [{{{toleration}}}]")
    assert [(item[0], item[1].startswith(marked)) for item in found] == ([(code, True)] if code else [])


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
