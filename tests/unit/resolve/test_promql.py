"""PromQL of scorers.

Where it stops to parse, what cannot be parsed safely, which labels results can have, and which
clauses mix clusters.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.resolve.promql.check import FUNCTIONS, check
from gitops_dsf.resolve.promql.labels import can_have
from gitops_dsf.resolve.promql.mixing import keeps_apart, mixing_clauses
from tests.support.laws import examples
from tests.support.repositories import listed


@pytest.mark.parametrize(
    ("query", "kind", "offset"),
    [
        ("foo{a=1}", "syntax", 6),
        *(
            (text, "syntax", 0)
            for text in listed("sum by (node)(x) + | a b | sum by (a b)(x) | é | x @ y")
        ),
        *((text, "syntax", 0) for text in ("", '"open', 'x{a="b" c="d"}', "sum(x[5m])")),
        *(
            (text, "syntax", len(text))
            for text in listed("sum(rate(a[5m] | x offset | x[5m: | # only")
        ),
        *((text, "syntax", len(text) - 1) for text in ("sum(a) / sum(b))", "sum(a) + rate(b[5m)")),
        ('avg(rate(a{x=")"}[1h]) / b))', "syntax", 27),
        ("1 + rate(x)", "syntax", 4),
        ("x + nope(y)", "function", 4),
        ("x[5m]", "result", 0),
        ('"s"', "result", 0),
    ],
)
def test_a_mistake_has_its_offset(query: str, kind: str, offset: int) -> None:
    checked = check(query)
    assert checked.tree is None
    assert [(mistake.kind, mistake.offset) for mistake in checked.mistakes] == [(kind, offset)]


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("raate(a[5m])", "did you mean rate?"),
        ("avg_over_tme(a[5m])", "did you mean avg_over_time?"),
        ("averg(a)", "did you mean avg?"),
        (
            "new(a)",
            "check its spelling; if the source is not a Prometheus, write source.dialect: Other",
        ),
    ],
)
def test_an_unknown_function_gets_the_closest_name(query: str, hint: str) -> None:
    [mistake] = check(query).mistakes
    assert (mistake.kind, mistake.hint) == ("function", hint)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_suggested_function_exists(name: str) -> None:
    assert "function" not in {mistake.kind for mistake in check(f"{name}(a)").mistakes}


VALID = r"""
    up | sum by (node) (rate(x[5m])) | sum(x) without (a) | x offset -5m | x @ start() | x{a='\''}
    max_over_time(rate(x[5m])[1h:1m]) | a * on (n) group_left (m) b | a and ignoring (x) b | -x ^ 2
    count_values("v", x) | foo:bar:baz | 1 + 1 | x{a=~`\d(`} | x == bool 0x1f | {"utf8.name", a="b"}
    count_values(`n`, x{a=~`b\.c`}) + y{a="\\d\u00e9"} | histogram_quantile(0.9, sum by (le) (rate(x[5m])))
    x{a=~'b|c',}
"""  # noqa: E501


@pytest.mark.parametrize("query", [*listed(VALID), "# comment\nx"])
def test_valid_queries_have_a_tree(query: str) -> None:
    assert check(query).tree is not None


@pytest.mark.parametrize(
    "query",
    [
        "(" * 61 + "x" + ")" * 61,
        "-" * 61 + "x",
        "+".join(["x"] * 1500),
        '"a\nb" + ' + "(" * 99_999,
        "é" + "-" * 99_999,
    ],
)
def test_what_recurses_too_deep_never_reaches_the_parser(query: str) -> None:
    [mistake] = check(query).mistakes
    assert "more than" in mistake.message or "does not fit" in mistake.message


@pytest.mark.parametrize(
    ("query", "offset"),
    [('x{a=~"\\d+"}', 6), ("y{a='b'} + x{a=~'b\\\\c\\.d'}", 21), ('x{a=`\\d`, b="\\d"}', 13)],
)
def test_the_backslash_that_is_no_escape_is_named(query: str, offset: int) -> None:
    """Go and Prometheus know a handful of escapes; a regular expression needs two backslashes, or
    back-quotes.
    """
    [mistake] = check(query).mistakes
    assert (mistake.kind, mistake.offset, query[mistake.offset]) == ("syntax", offset, "\\")
    assert "is not a valid escape sequence" in mistake.message
    assert "back-quotes" in mistake.hint


@pytest.mark.parametrize("query", ["rate(x[1e999])", "x offset inf", "x offset 1e308"])
def test_what_the_native_parser_panics_at_is_a_mistake(query: str) -> None:
    assert [mistake.kind for mistake in check(query).mistakes] == ["syntax"]


TOKENS = """
    sum by without ( ) { } [ ] , = =~ != "a" ' " ` 5m 1e5 0x1 1e999 : + - * / == bool on ignoring nan # é ; \\
    group_left and unless offset @ start() x foo:bar rate topk inf absent label_replace scalar
    18446744073709551616
"""  # noqa: E501
WORDS = [*TOKENS.split(), "\n", "\x00"]


@settings(examples(100))
@given(words=st.lists(st.sampled_from(WORDS), max_size=15), space=st.sampled_from(["", " "]))
def test_any_words_end_in_a_tree_or_in_mistakes(words: list[str], space: str) -> None:
    text = space.join(words)
    checked = check(text)
    assert (checked.tree is None) == bool(checked.mistakes)
    assert all(0 <= mistake.offset <= len(text) for mistake in checked.mistakes)
    if checked.tree is not None:
        assert can_have(checked.tree, "node") in {True, False}


@pytest.mark.parametrize(
    ("query", "yes", "no"),
    [
        ("x", "node pod", ""),
        ("sum(x)", "", "node"),
        ("sum by (node) (x)", "node", "pod"),
        ("sum without (node) (x)", "pod", "node"),
        ("max by (node, pod) (sum by (node) (x))", "node", "pod"),
        ("topk(3, sum by (node) (x))", "node", "pod"),
        ('count_values("app", x)', "app", "node"),
        ("sum by (node) (x) / on (node) group_left (app) y", "node app", "pod"),
        ("sum by (node) (x) * on (node) group_right () y", "node pod", ""),
        ("x / on (node) y", "node", "pod"),
        ("x / ignoring (node) y", "pod", "node"),
        ("sum by (node) (x) or sum by (pod) (y)", "node pod", "app"),
        ("2 * sum by (node) (x)", "node", "pod"),
        ('label_replace(sum by (node) (x), "app", "$1", "node", "(.*)")', "node app", "pod"),
        ("scalar(x)", "", "node"),
        ("rate(x[5m])", "node", ""),
        ("absent(x)", "node", ""),
        ("-(avg by (node) (x))", "node", "pod"),
        ("max_over_time(sum by (node) (x)[1h:1m])", "node", "pod"),
        ("histogram_quantile(0.9, sum by (node, le) (rate(x_bucket[5m])))", "node", "le pod"),
        ("histogram_fraction(0, 1, rate(x_bucket[5m]))", "node pod", "le"),
        ("histogram_quantile(0.9, sum by (node, le) (x)) + on (node) y", "node", "le"),
        ('histogram_quantiles(sum by (node, le) (x), "q", 0.5, 0.9)', "node q", "le pod"),
        ("rate(x_bucket[5m])", "le node", ""),
    ],
)
def test_grouping_decides_which_labels_a_result_can_have(query: str, yes: str, no: str) -> None:
    tree = check(query).tree
    assert tree is not None
    assert [label for label in yes.split() if not can_have(tree, label)] == []
    assert [label for label in no.split() if can_have(tree, label)] == []


APART = [
    "sum by (cluster, node) (rate(x[5m]))",
    "sum without (node) (x)",
    "x",
    "-x",
    "100 * x{a!='b', c=~'on (d)'} / 3 > 5",
    "a / on (cluster) b",
    "a / ignoring (node) group_left b",
    "a and on (cluster, node) b",
    "topk by (cluster) (3, x)",
    'label_replace(sum by (id) (x), "cluster", "$1", "id", "(.+)")',
    'label_join(sum by (a, b) (x), "cluster", "-", "a", "b")',
    "max_over_time(sum by (cluster) (x)[1h:5m])",
    "histogram_quantile(0.9, sum by (cluster, le) (rate(x_bucket[5m])))",
    "quantile by (cluster) (0.5, x)",
]


@pytest.mark.parametrize("query", APART)
def test_a_query_that_keeps_clusters_apart(query: str) -> None:
    assert mixed(query) == []


@pytest.mark.parametrize(
    ("query", "marks"),
    [
        ("sum(x)", {"sum": "write sum by (cluster) (...)"}),
        ("SUM(x) BY (node)", {"SUM": "write sum by (cluster, node) (...)"}),
        ("avg without (cluster, node) (x)", {"avg": "remove cluster from without (cluster, node)"}),
        (
            "sum by (cluster) (sum by (node) (x))",
            {"sum by (node)": "write sum by (cluster, node) (...)"},
        ),
        ("topk(3, x)", {"topk": "write topk by (cluster) (...)"}),
        ("count_values('cluster', x)", {"count_values": "write count_values by (cluster) (...)"}),
        ("x + 1 > -y / on (node) z", {"/ on": "write on (cluster, node)"}),
        ("a - ignoring (cluster) b", {"- ignoring": "remove cluster from ignoring (...)"}),
        ("a{x!='1'} or on () b", {"or on": "write on (cluster)"}),
        (
            "x offset -5m unless ignoring (cluster) y",
            {"unless": "remove cluster from ignoring (...)"},
        ),
        ("x or vector(0)", {"vector": "write an expression that keeps the label cluster"}),
        ("absent(x)", {"absent": "write an expression that keeps the label cluster"}),
        (
            "x / scalar(sum(x))",
            {
                "scalar": "write an expression that keeps the label cluster",
                "sum": "write sum by (cluster) (...)",
            },
        ),
        (
            "sum(sum) + on (cluster) max(max{sum='max'})",
            {"sum(": "write sum by (cluster) (...)", "max(": "write max by (cluster) (...)"},
        ),
        ("1", {"1": "keep the label cluster of the series"}),
        (
            'label_replace(sum by (node) (x), "cluster", "$1", "id", "(.+)")',
            {"sum": "write sum by (id, node) (...)"},
        ),
    ],
)
def test_the_clause_that_mixes_clusters_is_named_with_its_place(
    query: str, marks: dict[str, str]
) -> None:
    assert mixed(query) == [(query.index(text), hint) for text, hint in marks.items()]


def mixed(query: str) -> list[tuple[int, str]]:
    checked = check(query)
    assert checked.tree is not None, checked.mistakes
    return [
        (clause.offset, clause.hint)
        for clause in mixing_clauses(query, checked.tree, "cluster", max_tokens=500)
    ]


@pytest.mark.parametrize(
    ("query", "apart"),
    [
        ("x", True),
        ("rate(x[5m]) / y", True),
        ("1 - avg by (cluster, node) (x)", True),
        ("sum without (cpu) (x) * on (cluster) group_left y", True),
        ('label_replace(x, "node", "$1", "id", "(.+)")', True),
        ("histogram_quantile(0.9, sum by (cluster, le) (rate(x[5m])))", True),
        ("avg(x)", False),
        ("topk(3, x)", False),
        ("x / ignoring (cluster) y", False),
        ("x * scalar(y)", False),
        ("x or vector(0)", False),
        # The author of a query on the hub may name clusters as they like. For agents the label has
        # to be the one that the store gave to the series.
        ('label_replace(x, "cluster", "$1", "id", "(.+)")', False),
        ('label_join(x, "cluster", "-", "a", "b")', False),
        ('avg by (cluster) (count_values by (cluster) ("cluster", x))', False),
    ],
)
def test_series_that_name_a_cluster_are_of_that_cluster_alone(query: str, apart: bool) -> None:
    checked = check(query)
    assert checked.tree is not None, checked.mistakes
    assert keeps_apart(query, checked.tree, "cluster") is apart
