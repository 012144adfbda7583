"""CEL expressions near the limits.

Which are answered, which are refused, and what the message says.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.simulator import HubState, Unsupported
from gitops_dsf.simulator.cel.checker import CelSyntaxError, Checker
from gitops_dsf.simulator.cel.function import CelUnsupported
from tests.unit.simulator.hub import cluster, score, viewed

LONG = ",".join("abcdefgh" for _ in range(200))
STATUS = {"allocatable": {"cpu": "1500m"}}
CLAIMS = [{"name": "plain", "value": "7"}, {"name": "padded", "value": "7 "}]


def answer(
    expression: str, *objects: dict[str, Any], **fields: Any
) -> bool | str | Unsupported | None:
    """The answer for the cluster c1. Checks the expression first."""
    state = HubState.build([cluster("c1", **{"status": STATUS, **fields}), *objects])
    problem = state.cel.check(expression)
    return problem if problem is not None else state.cel.answer(expression, 0)


@pytest.mark.parametrize(
    "expression",
    [
        (
            "!ip('127.0.0.1').isGlobalUnicast() && !ip('::1').isGlobalUnicast() &&"
            " !ip('::').isGlobalUnicast()"
        ),
        "!ip('224.0.0.1').isGlobalUnicast() && !ip('169.254.1.1').isGlobalUnicast()",
        "!ip('255.255.255.255').isGlobalUnicast() && ip('2001:db8::1').isGlobalUnicast()",
        "ip('224.0.0.5').isLinkLocalMulticast() && !ip('224.0.1.5').isLinkLocalMulticast()",
        "ip('ff12::1').isLinkLocalMulticast() && !ip('ff05::1').isLinkLocalMulticast()",
        "!ip('fe02::1').isLinkLocalMulticast() && !ip('10.0.0.1').isLinkLocalUnicast()",
        "ip('127.0.0.1').isLoopback() && ip('::').isUnspecified()",
        "!isIP('::ffff:10.0.0.1') && !isIP('x') && !isIP('fe80::1%eth0')",
        "isCIDR('10.0.0.0/0') && isCIDR('10.0.0.0/32') && !isCIDR('10.0.0.0/33') && !isCIDR('x/8')",
        "isCIDR('::/128') && !isCIDR('::/129') && !isCIDR('10.0.0.0/+8') && !isCIDR('10.0.0.0/８')",
        "cidr('::/8').containsCIDR(cidr('::/16')) && cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))",
        (
            "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8') &&"
            " !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')"
        ),
        (
            "!cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16') &&"
            " !cidr('10.0.0.0/8').containsCIDR('::/64')"
        ),
        "cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('10.1.2.3/8').prefixLength() == 8",
        (
            "semver('1.0.0').compareTo(semver('1.0.0')) == 0 &&"
            " semver('1.0.0-a').isLessThan(semver('1.0.0'))"
        ),
        "semver('1.0.0-a').compareTo(semver('1.0.0-b')) == -1",
        "semver('1.0.0-b').compareTo(semver('1.0.0-a')) == 1",
        (
            "semver('1.0.0-2').isLessThan(semver('1.0.0-10')) &&"
            " semver('1.0.0-2').isLessThan(semver('1.0.0-a'))"
        ),
        (
            "semver('1.0.0-a').isLessThan(semver('1.0.0-a.1')) &&"
            " semver('1.9.0').isLessThan(semver('1.10.0'))"
        ),
        (
            "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 &&"
            " semver('1.2.3').patch() == 3"
        ),
        "isSemver('18446744073709551615.0.0') && !isSemver('18446744073709551616.0.0')",
        "!isSemver('1.0.0-18446744073709551616') && !isSemver('1.0.0-01') && isSemver('1.0.0-0')",
        "isSemver('1.0.0-0a') && isSemver('1.0.0-a01') && !isSemver('v1.0.0') && !isSemver('1.0')",
        "[1, 2, 2].isSorted() && !['b', 'a'].isSorted()",
        "[2, 3, 1].max() == 3 && [2, 1, 3].min() == 1 && ['b', 'c', 'a'].max() == 'c'",
        "1.0 / [0.0, -0.0].max() > 0.0 && 1.0 / [0.0, -0.0].min() > 0.0",
        "[9223372036854775807, 0].sum() == 9223372036854775807 && [-200].sum() == -200",
        (
            "[-9223372036854775807, -1].sum() == -9223372036854775807 - 1 && [1].filter(x, x"
            " > 5).sum() == 0"
        ),
        "quantity('1k').isInteger() && quantity('1k').asInteger() == 1000",
        "!quantity('1500m').isInteger() && !quantity('16Ei').isInteger()",
        "quantity('999999999999999999').asInteger() == 999999999999999999",
        "quantity('1').add(quantity('500m')) == quantity('1500m') && sign(quantity('0')) == 0",
        (
            "!quantity('1').isGreaterThan(quantity('1')) &&"
            " quantity('1').compareTo(quantity('2')) == -1"
        ),
        "isQuantity('1Gi') && !isQuantity('1 Gi')",
        (
            "'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'abc'.find('[0-9]') == '' &&"
            " 'a'.find(r'\\d') == ''"
        ),
        "url('https://h:1/p?a=1&b=2&a=3').getQuery() == {'a': ['1', '3'], 'b': ['2']}",
        (
            "url('https://[::1]:1/p').getHostname() == '::1' &&"
            " url('https://[::1]:1/p').getHost() == '[::1]:1'"
        ),
        "url('https://h?a=b=c').getQuery() == {'a': ['b=c']} && url('https://h').getQuery() == {}",
        """'{"a": "\\\\u00e9"}'.parseJSON().a == 'é' && '[1]'.parseJSON()[0] == 1.0""",
        "string(1) == '1' && double('infinity') > 1.0",
        "duration('1s') == duration('1000ms')",
        " && ".join(["[] == []"] * 50),
        f"[{', '.join(['1'] * 20_000)}] != []",
    ],
)
def test_what_is_true(expression: str) -> None:
    """Beside the answers of Go in test_cel.py: the ends of ranges, and both orders of arguments."""
    assert answer(expression) is True


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("managedCluster.metadata.scores('r').size() == 0", "failed to get cluster name"),
        (
            "managedCluster.scores('r').size() == 0",
            'addonplacementscores "r" not found in namespace c1',
        ),
        ("'{'.parseJSON() == 1", "failed to parse json"),
        ("'1e999'.parseJSON() == 1.0", "out of range"),
        ("'NaN'.parseJSON() == 1.0", "NaN is not JSON"),
        ("[9223372036854775807, 1].sum() == 0", "integer overflow"),
        ("[-9223372036854775807, -2].sum() == 0", "integer overflow"),
        ("'a'.startsWith(1)", "found no matching overload for 'startsWith'"),
        ("[quantity('1')]", "the result is not a bool but LIST"),
        ("type(1)", "the result is not a bool but TYPE"),
        ("null", "the result is not a bool but NULL"),
        ("quantity('9223372036854775807').add(1).sub(1) == quantity('x')", "not a quantity"),
        ("quantity('1500m').asInteger() == 1", "cannot convert value to integer"),
        ("url('') == url('')", "empty url"),
        ("[quantity('1'), semver('1.0.0')][1].isInteger()", "no such overload"),
        ("[dyn(1), dyn(true)].max() == 1", "no such overload"),
        ("[dyn(1), dyn('a')].max() == 1", "no such overload"),
        ("[dyn('a')].sum() == 1", "no such overload"),
        ("[dyn(true)].sum() == 1", "no such overload"),
        ("quantity('9223372036854775807').asInteger() == 1", "cannot convert value to integer"),
        ("[1].filter(x, x > 5).max() == 1", "called on empty list"),
        ("[1].filter(x, x > 5).min() == 1", "called on empty list"),
        ("cidr('10.0.0.0/8/8') == cidr('10.0.0.0/8')", "network address '10.0.0.0/8/8'"),
        ("'a'.find(managedCluster.metadata.name + '[') == ''", "error parsing regexp: missing ]"),
        ("[dyn(1), dyn(1.5)].sum() == 1", "no such overload"),
    ],
)
def test_why_an_expression_fails_on_a_cluster(expression: str, words: str) -> None:
    found = answer(expression)
    assert isinstance(found, str)
    assert words in found


def many(prefix: str) -> dict[str, str]:
    return {f"{prefix}{number}": "x" for number in range(200)}


ALL = "all(a, {0}.all(b, {0}.all(c, a != b || b != c)))"


@pytest.mark.parametrize(
    ("expression", "fields", "reason"),
    [
        ("int('77 ') == 77", {}, "a number from the text '77 '"),
        ("double('9e999') > 1.0", {}, "a number from the text '9e999'"),
        (
            "int(managedCluster.status.clusterClaims[0].value) == 7",
            {"status": {"clusterClaims": CLAIMS}},
            "a number from the text '7 '",
        ),
        ("quantity('1k').isInteger() && quantity('1000').isInteger()", {}, "two spellings"),
        ("quantity('1').add(quantity('1')).isInteger()", {}, "came from arithmetic"),
        ("'abc'.findAll('x*') == []", {}, "matches the empty text"),
        ("""'"\\\\ud800"'.parseJSON() == 'x'""", {}, "half a surrogate pair"),
        (
            "managedCluster.metadata.annotations.l.parseJSON() == 1.0",
            {"metadata": {"annotations": {"l": "[" * 101 + "{" * 100}}},
            "more than 200 brackets",
        ),
        ("[dyn(1), dyn(b'a')].isSorted()", {}, "numbers, strings and booleans"),
        ("(" * 60 + "true" + ")" * 60, {}, "nested deeper than this parser goes"),
        ("1 + 'a' == 2", {}, "types that may differ after arithmetic"),
        ("[b'a'].isSorted()", {}, "isSorted (for these types)"),
        ("`a` == 1", {}, "backticks"),
        ("uint(' 7') == 7u", {}, "a number from the text ' 7'"),
        ("[duration('1s')].sum() == 1", {}, "sum (for these types)"),
        ("[duration('1s')].min() == 1", {}, "min (for these types)"),
        ("[duration('1s')].max() == 1", {}, "max (for these types)"),
        *(
            (
                f"{reflection}({value}) == {reflection}({value})",
                {},
                f"{reflection} (together with quantities, URLs, addresses or versions)",
            )
            for reflection in ("type", "dyn", "string")
            for value in (
                "quantity('1')",
                "url('https://h')",
                "ip('::1')",
                "cidr('::/1')",
                "semver('1.0.0')",
            )
        ),
        ("string(duration('1s')) == '1s'", {}, "string (together with durations"),
        ("managedCluster == managedCluster", {}, "after a list but not after a watch"),
        ("managedCluster.size() == 3", {}, "after a list but not after a watch"),
        ("'a'.find('\\\\C') == 'a'", {}, "Go has no"),
        (
            "managedCluster.metadata.labels." + ALL.format("managedCluster.metadata.labels"),
            {"labels": many("l")},
            "3 nested comprehensions over up to 201 elements",
        ),
        (
            "managedCluster.metadata.annotations.l.split(',')."
            + ALL.format("managedCluster.metadata.annotations.l.split(',')"),
            {"metadata": {"annotations": {"l": LONG}}},
            f"3 nested comprehensions over up to {len(LONG) // 2 + 1} elements",
        ),
        (
            "managedCluster.scores('r')." + ALL.format("managedCluster.scores('r')"),
            {},
            "3 nested comprehensions over up to 150 elements",
        ),
    ],
)
def test_what_is_not_answered(expression: str, fields: dict[str, Any], reason: str) -> None:
    scores = [score("c1", **{f"s{number}": 1 for number in range(150)}), score("c1", "other", a=1)]
    found = answer(expression, *scores, **fields)
    assert isinstance(found, Unsupported), found
    assert reason in str(found)


def test_the_same_comprehensions_over_few_elements_are_answered() -> None:
    text = "managedCluster.metadata.labels." + ALL.format("managedCluster.metadata.labels")
    assert answer(text) is False
    assert answer("managedCluster.metadata.labels.all(a, a != 'x')", labels=many("l")) is True


@pytest.mark.parametrize(
    ("expression", "offset", "words"),
    [
        ("true &&\n  nobody", 10, "undeclared reference to 'nobody'"),
        ("1 +", 3, "Syntax error"),
        ("managedCluster.metadata.name == 1 + x", 36, "undeclared reference to 'x'"),
        ("'a'.find('[') == ''", 9, "error parsing regexp"),
        ("'a'.findAll( '(' , 1) == []", 13, "error parsing regexp"),
        ("'a'.find(r'[') == ''", 9, "missing ]"),
    ],
)
def test_the_place_of_a_mistake(expression: str, offset: int, words: str) -> None:
    with pytest.raises(CelSyntaxError) as caught:
        Checker().check(expression)
    [mistake] = caught.value.mistakes
    assert mistake == Mistake(mistake.message, offset=offset)
    assert words in mistake.message
    assert words in str(caught.value)


def test_two_mistakes_have_two_places() -> None:
    with pytest.raises(CelSyntaxError) as caught:
        Checker().check("nobody && nothing")
    assert [mistake.offset for mistake in caught.value.mistakes] == [0, 10]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [("1 == 1", "BOOL"), ("1", "INT"), ("managedCluster.metadata", "DYN"), ("'a'", "STRING")],
)
def test_the_type_of_an_expression(expression: str, kind: str) -> None:
    assert Checker().check(expression).yields == kind


def test_an_expression_that_is_no_text_is_not_answered() -> None:
    with pytest.raises(CelUnsupported, match="not valid Unicode"):
        Checker().check("'\ud800' == ''")


def test_times_of_a_yaml_parser_are_texts() -> None:
    """YAML parsers read unquoted times as datetime objects."""
    document = cluster("c1", metadata={"creationTimestamp": datetime(2026, 6, 1, 12, tzinfo=UTC)})
    assert viewed(document)["metadata"]["creationTimestamp"] == "2026-06-01T12:00:00Z"


def test_namespaces_of_a_cluster_as_cel_sees_them() -> None:
    """Fields without omitempty are there, conditions only if there are any."""
    condition = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": "2026-06-01T12:00:00+02:00",
    }
    entries = [{"name": "a", "clusterSet": "s", "conditions": [condition]}, {"conditions": []}]
    assert viewed(cluster("c1", status={"managedNamespaces": entries}))["status"] == {
        "conditions": None,
        "version": {},
        "managedNamespaces": [
            {
                "name": "a",
                "clusterSet": "s",
                "conditions": [
                    {
                        "type": "Available",
                        "status": "True",
                        "reason": "",
                        "message": "",
                        "lastTransitionTime": "2026-06-01T10:00:00Z",
                    }
                ],
            },
            {"name": "", "clusterSet": ""},
        ],
    }


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        (f"[{', '.join(['[]'] * 198)}] != []", True),
        (f"[{', '.join(['[]'] * 199)}] != []", False),
        ("true".ljust(100_000), True),
        ("true".ljust(100_001), False),
    ],
    ids=["200 brackets", "201 brackets", "100,000 characters", "100,001 characters"],
)
def test_the_limits_of_a_text(text: str, answered: bool) -> None:
    assert isinstance(answer(text), Unsupported) is not answered


def test_endpoints_of_a_cluster_as_cel_sees_them() -> None:
    document = cluster("c1")
    document["spec"]["managedClusterClientConfigs"] = [{"caBundle": "YQ=="}, {"url": "https://c1"}]
    shown = viewed(document)["spec"]["managedClusterClientConfigs"]
    assert shown == [{"url": "", "caBundle": "YQ=="}, {"url": "https://c1"}]


GROWING = '.replace("b", "' + "b" * 1_000 + '")'
LABEL = '.replace("", managedCluster.metadata.labels["long"])'


@pytest.mark.parametrize(
    "expression",
    [
        f'"b"{GROWING * 4} == ""',
        f'managedCluster.metadata.name{LABEL * 2} == ""',
        f'"a".find("{"a?" * 6_000}") == ""',
    ],
)
def test_texts_that_grow_without_end_are_refused(expression: str) -> None:
    found = answer(expression, labels={"long": "x" * 4_000})
    assert isinstance(found, Unsupported), found


def test_honest_replacements_are_answered() -> None:
    names = "managedCluster.metadata.name" + '.replace("-", "_").replace("eu", "europe")' * 3
    assert answer(f'{names} == "c1"', labels={"long": "x" * 4_000}) is True
    assert (
        answer(
            'managedCluster.metadata.labels["a"].replace("x",'
            ' managedCluster.metadata.name) == "c1"',
            labels={"a": "x"},
        )
        is True
    )
