"""What people write in a form that is not read.

A percentage, `true` in place of an object, PromQL in double quotes.
"""

import pytest

from tests.support.repositories import APP, BASE, app, findings, scorer

SETTINGS = BASE["gitops-dsf.yaml"]


def told(**documents: str) -> list[tuple[str, str, str, str]]:
    return [
        (item.code, str(item.position), item.message, item.hint) for item in findings(**documents)
    ]


def test_a_percentage_of_points_is_a_number_of_points() -> None:
    [(code, position, message, hint)] = told(apps=APP + "  stickiness: 20%\n")
    assert (code, position) == ("DSF015", "apps/x.yaml:8:15")
    assert message == 'spec.stickiness must be a whole number, not the text "20%"'
    assert hint == "write 20: stickiness is a number of score points"


def test_a_percentage_of_clusters_is_no_number_of_clusters() -> None:
    [(_, _, _, hint)] = told(apps=app("numberOfClusters: 1", "numberOfClusters: 50%"))
    about = "numberOfClusters: Number of clusters; every eligible one when absent"
    assert hint == f"write a whole number without %: {about}"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (
            "true",
            (
                "write pace: {} for its defaults, or its fields: concurrent, arrivalsPerCluster,"
                " settleSeconds, cooldownSeconds, refuges, stopAfterReturns, returnsWindowSeconds,"
                " acknowledgedStop"
            ),
        ),
        ("false", "remove pace"),
    ],
)
def test_true_is_no_object(value: str, hint: str) -> None:
    [found] = told(settings=SETTINGS.replace("spec: {", f"spec: {{pace: {value}, "))
    assert found[0] == "DSF015"
    assert found[2] == f"spec.pace must be an object, not {value}"
    assert found[3] == hint


def test_the_fields_that_an_object_needs_are_named() -> None:
    text = SETTINGS.replace("spec: {", "spec: {hubScorer: {}, ").replace(
        'git: {url: "https://git.example.com/fleet.git"}', "git: true"
    )
    [(_, _, message, hint)] = told(settings=text)
    assert (message, hint) == (
        "spec.git must be an object, not true",
        "write its fields, at least url",
    )


def test_what_is_written_is_quoted_as_it_is_written() -> None:
    [(_, _, message, hint)] = told(apps=APP + "  moves: {pace: true}\n")
    assert (message, hint) == ("spec.moves.pace: true is not allowed", "write Fleet or None")


QUERY = """\
  source:
    host: http://prom:9090
    params:
      query: VALUE
      range: 60
      step: 60
"""


@pytest.mark.parametrize(
    "value",
    [
        '"sum(rate(http_requests_total{job="api"}[5m]))"',
        '"up{job="api"}"',
        '"up{job=""}"',
        '"sum by (node) (up{job="api", code=~"5.."}) / 2"',
        '"up{job=~"a\\.b"}"',
    ],
)
@pytest.mark.parametrize("flow", [False, True])
def test_promql_in_double_quotes(value: str, flow: bool) -> None:
    """The first label ends the value. The column is that of the quote that does."""
    text = QUERY.replace("VALUE", value)
    if flow:
        text = (
            f"  source: {{host: http://prom:9090, params: {{query: {value}, range: 60, step:"
            " 60}}\n"
        )
    [(code, position, message, hint)] = told(
        scorers=scorer("  scoreRange: {min: 0, max: 1}\n", text)
    )
    whole = BASE["scorers/s.yaml"].replace("  scoreRange: {min: 0, max: 1}\n", text).splitlines()
    line = next(number for number, each in enumerate(whole, 1) if "query:" in each)
    column = whole[line - 1].index(value) + value.index('"', 1) + 1
    assert (code, position) == ("DSF001", f"scorers/s.yaml:{line}:{column}")
    assert message == "a double quote ends the value that begins with one, and text follows it"
    assert hint == "write the whole value in single quotes: '...'"


def test_with_single_quotes_in_it_the_value_is_a_block() -> None:
    text = QUERY.replace("VALUE", '"up{job=\'a\', code="5"}"')
    [(_, _, _, hint)] = told(scorers=scorer("  scoreRange: {min: 0, max: 1}\n", text))
    assert hint == (
        "write `|-` in its place, and the text on the next line, indented and without"
        " quotes around it"
    )


@pytest.mark.parametrize(
    "value",
    [
        "'up{job=\"api\"}'",
        '"up{job=\\"api\\"}"',
        "up{job='api'}",
        'sum(up{job="api"})',
        '"up" # job="api"',
    ],
)
def test_what_yaml_reads_is_read(value: str) -> None:
    assert (
        told(scorers=scorer("  scoreRange: {min: 0, max: 1}\n", QUERY.replace("VALUE", value)))
        == []
    )


def test_an_error_elsewhere_is_told_there() -> None:
    """A line whose quotes are right says nothing about another line."""
    text = 'description: "a" b\n'
    [(_, _, message, hint)] = told(config=f"kind: x\n{text}")
    assert (message, hint) == ("text behind a quoted or bracketed value", "quote the whole value")
