"""CEL of raw Placements.

Compiled as OCM compiles it, the place inside the YAML string, and silence where the engine cannot
judge.

Aspects covered: agreement with OCM's own compiler on recorded expressions, words, places through
YAML styles, what is not offered, engine limits, imports only where there is CEL.
"""

import gzip
import json
import sys
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.resolve.cel import cel_mistakes as check
from tests.support.commandline import output_of
from tests.unit.simulator.hub import ORACLE

EXPRESSIONS = json.loads(gzip.decompress((ORACLE / "cel.json.gz").read_bytes()))["expressions"]
REFUSED = "refused"


def test_nothing_is_blamed_that_ocm_accepts() -> None:
    """What is said to be refused, OCM refused; what is said to be no bool was true on no
    cluster.
    """
    assert [
        f"{expression}: OCM {answers}, {mistake.message}"
        for expression, answers in EXPRESSIONS
        for mistake in check(expression)
        if answers != REFUSED and (" yields " not in mistake.message or True in answers)
    ] == []


def test_most_of_what_ocm_refuses_is_found() -> None:
    refused = [text for text, answers in EXPRESSIONS if answers == REFUSED]
    assert sum(bool(check(text)) for text in refused) > len(refused) * 0.75


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("managedCluster.metadata.name == 'a'", []),
        ("managedCluster.metadata.labels['a'] == 'b'", []),
        ("managedCluster.metadata.annotations['on'].parseJSON()", []),
        ("managedCluster.metadata.name ==", [(31, "CEL: mismatched input '<EOF>'")]),
        ("managedCluster.metadata.nam e", [(28, "CEL: extraneous input 'e'")]),
        ('managedCluster.metadata.name == "a', [(32, "CEL: token recognition error")]),
        (
            "a == b",
            [(0, "CEL: undeclared reference to 'a'"), (5, "CEL: undeclared reference to 'b'")],
        ),
        ("true &&\n  nope(1)", [(14, "CEL: undeclared reference to 'nope'")]),
        ("'ü😀' == nope", [(8, "CEL: undeclared reference to 'nope'")]),
        ("1 == 'a'", [(2, "CEL: found no matching overload for '_==_'")]),
        ("true ? 1 : 'a'", [(5, "CEL: found no matching overload for '_?_:_'")]),
        ("'a' in 3", [(4, "CEL: found no matching overload for '@in'")]),
        ("managedCluster.scores(1)", [(21, "CEL: found no matching overload for 'scores'")]),
        ("'a'.find('(') == 'a'", [(9, "CEL: error parsing regexp: missing ): (")]),
        ("99999999999999999999 == 1", [(0, "CEL: invalid int literal")]),
        (
            "managedCluster.metadata.labels.size()",
            [(0, "CEL: the expression yields int, not true or false")],
        ),
        (
            "true && manageCluster.metadata.name == 'a'",
            [(30, "CEL: undeclared reference to 'manageCluster.")],
        ),
        ("true && a\n.b", [(10, "CEL: undeclared reference to")]),
        (
            "size(managedCluster.metadata.name)",
            [(0, "CEL: the expression yields int, not true or false")],
        ),
        ("'prod'", [(0, "CEL: the expression yields string, not true or false")]),
        ("null", [(0, "CEL: the expression yields null, not true or false")]),
        ("quantity('1')", [(0, "CEL: the expression yields quantity, not true or false")]),
        ("optional.of(true)", [(0, "CEL: the expression yields optional, not true or false")]),
    ],
)
def test_mistakes_have_a_place_and_words(expression: str, found: list[tuple[int, str]]) -> None:
    assert [
        (item.offset, item.message[: len(words)])
        for item, (_, words) in zip(check(expression), found, strict=True)
    ] == found


@pytest.mark.parametrize(
    "expression",
    ["a" * 5000, f"'{'a' * 5000}", "@" * 5000, f"'a'.find('({'a' * 5000}')", "9" * 5000],
)
def test_words_stay_short(expression: str) -> None:
    assert all(len(item.message) < 200 for item in check(expression))
    assert check(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "'%d'.format([1]) == '1'",
        "managedCluster.kind == 'ManagedCluster'",
        " + ".join(["1"] * 60) + " == 60",
        "managedCluster" + ".a" * 60 + " == 1",
        "managedCluster.metadata.`name` == 'a'",
        "(" * 300 + "1" + ")" * 300,
        "true || " * 20_000 + "nope",
        "'\udc00' == nope",
    ],
)
def test_nothing_is_said_of_what_the_engine_does_not_offer(expression: str) -> None:
    """Names that are not offered, nesting that this parser takes less of than OCM's, and what is
    too large for it.
    """
    assert check(expression) == ()


PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: p, namespace: argocd}
spec:
  predicates:
    - requiredClusterSelector:
        celSelector:
          celExpressions:
"""


SCRIPT = """
import sys
from gitops_dsf.cli.main import main
for folder in sys.argv[1:]:
    print(main(["validate", folder]), "cel_expr_python" in sys.modules)
"""


def test_the_engine_is_imported_only_where_there_is_cel(tmp_path: Path) -> None:
    """It costs a tenth of a second, which most repositories need not pay."""
    for name in ("without", "with"):
        scaffold(target=tmp_path / name, name="fleet", extras=("examples",))
    (tmp_path / "with" / "apps" / "raw.yaml").write_text(
        PLACEMENT + "            - \"'env' in managedCluster.metadata.labels\"\n"
    )
    told = output_of(
        sys.executable, "-c", SCRIPT, tmp_path / "without", tmp_path / "with"
    ).splitlines()
    assert [line for line in told if line.startswith("0 ")] == ["0 False", "0 True"]
