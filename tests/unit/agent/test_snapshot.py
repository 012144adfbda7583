"""Parsing the file into a Snapshot: invalid entries, names, completeness."""

import json
from typing import Any

import pytest

from dsf_agent.configuration import snapshot
from dsf_wire import clusters
from tests.support.agent.running import entry

GOOD = entry("good", scoring="http://s", source="http://p")


def _parse(*entries: dict[str, Any]) -> snapshot.ConfigurationSnapshot:
    return snapshot.parse(json.dumps(entries).encode())


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown scoring type": (
        {"scoringType": "query"},
        "scoringType 'query' is not one of API, Query",
    ),
    "a query without a source": (
        {"scoringType": "Query", "sourceType": "None"},
        "scoringType Query needs a source",
    ),
    "a default score off the scale": ({"defaultScore": 101}, "Expected `int` <= 100"),
    "a default score without a name": (
        {"defaultScore": 1, "scoreDimensionFormat": "${cluster};${pod}"},
        "without labels, and it has ${pod}",
    ),
    "a default score without a source": (
        {"defaultScore": 1, "scoreDimensionFormat": "", "sourceType": "None"},
        "defaultScore needs a source",
    ),
    "no interval": ({"scoringInterval": 0}, "scoringInterval is 0"),
    "negative interval": ({"scoringInterval": -5}, "scoringInterval is -5"),
    "an interval in nanoseconds": (
        {"scoringInterval": 30 * 10**9},
        "scoringInterval is 30000000000; write the seconds",
    ),
    "an interval beyond all numbers": ({"scoringInterval": 10**310}, "from 1 to 31536000"),
    "a lifetime without a date": (
        {"scoreTTLSeconds": 10**12},
        "scoreTTLSeconds is 1000000000000; write seconds up to",
    ),
    "a pause beyond all numbers": (
        {"publish": {"deadband": 0, "minIntervalSeconds": 10**310}},
        "publish.minIntervalSeconds is 1",
    ),
    "outputs off the scale": (
        {"scoreRange": {"min": 0, "max": 1, "outputMin": 0, "outputMax": 10**310}},
        "from -100 to 100",
    ),
    "a step in milliseconds": ({"sourceStep": 10**12}, "sourceStep is 1000000000000"),
    "no scoring URL": ({"scoringEndpoint": ""}, "scoringEndpoint '' is not an http or https URL"),
    "odd scheme": ({"scoringEndpoint": "ftp://x/"}, "not an http or https URL"),
    "odd scheme with a password": (
        {"scoringEndpoint": "htp://me:secret@x/y?token=z"},
        "'htp://x/y' is not an http or https URL",
    ),
    "a source with a password": (
        {"sourceEndpoint": "htp://me:secret@x/y"},
        "'htp://x/y' is not an http or https URL",
    ),
    "odd port": ({"scoringEndpoint": "http://x:99999/"}, "not an http or https URL"),
    "broken host": ({"scoringEndpoint": "http://[::1/"}, "not an http or https URL"),
    "no source URL": ({"sourceEndpoint": ""}, "sourceEndpoint ''"),
    "no query": ({"sourceQuery": " ; "}, "sourceQuery is empty"),
    "an unknown measure": (
        {"sourceType": "Kubernetes", "sourceQuery": "nodes; cpus"},
        "sourceQuery: there is no measure cpus (character 8)",
    ),
    "an entry of the hub scorer": (
        {"runsOn": "Hub", "clusterLabel": {"name": "cluster"}},
        "runsOn is Hub: the hub scorer runs this entry, and no agent",
    ),
    "no measure": (
        {"sourceType": "Kubernetes", "sourceQuery": " "},
        "sourceQuery is empty; write the name of a measure, such as cpu_available_ratio",
    ),
    "no step": ({"sourceStep": 0}, "sourceStep is 0"),
    "negative range": ({"sourceRange": -1}, "sourceRange is -1"),
    "a range in milliseconds": ({"sourceRange": 10**12}, "sourceRange"),
    "the blog's source type": (
        {"sourceType": "prometheus"},
        "sourceType 'prometheus' is not one of Kubernetes, None, Prometheus",
    ),
    "odd destination": ({"scoreDestination": "Hub"}, "scoreDestination 'Hub'"),
    "odd aggregation": (
        {"scoreAggregation": "mean"},
        "scoreAggregation 'mean' is not one of Last, Mean, Min, Max, Sum",
    ),
    "a Secret without a key": (
        {"sourceEndpointAuthName": "s"},
        "sourceEndpointAuthKey must both be set",
    ),
    "a key without a Secret": ({"scoringEndpointAuthKey": "k"}, "scoringEndpointAuthName and"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_invalid_entry_is_reported_and_skipped(name: str) -> None:
    """The valid ones run, the file is not complete, and the index is that in the file."""
    change, text = FAULTS[name]
    found = _parse(
        {"name": 7}, GOOD, {**entry("bad", scoring="http://s", source="http://p"), **change}
    )
    assert [scorer.name for scorer in found.scorers] == ["good"]
    assert [(problem.index, problem.name) for problem in found.problems] == [(0, ""), (2, "bad")]
    assert text in found.problems[1].reason
    assert not found.complete


def test_two_scorers_of_one_object_name() -> None:
    found = _parse(GOOD, {**GOOD, "name": "other", "scoreName": "Good_Score"})
    assert [scorer.name for scorer in found.scorers] == ["good"]
    assert "same AddOnPlacementScore 'good-score' as scorer 'good'" in found.problems[0].reason


def test_the_hub_scorer_does_not_run_an_entry_of_the_agents() -> None:
    found = snapshot.parse(json.dumps([GOOD]).encode(), clusters.encode([]).encode())
    assert (found.scorers, found.complete) == ((), False)
    assert [one.reason for one in found.problems] == [
        "runsOn is not Hub: the agents run this entry"
    ]


def test_an_instant_query_needs_no_step() -> None:
    assert _parse({**GOOD, "sourceEndpoint": "http://p/api/v1/query", "sourceStep": 0}).complete


def test_a_query_without_a_type_means_prometheus() -> None:
    assert _parse(
        {**GOOD, "sourceType": ""}, entry("none", scoring="http://s", sourceType="")
    ).complete


@pytest.mark.parametrize("content", [b"[]", b" [ ]\n"])
def test_an_empty_list_is_complete(content: bytes) -> None:
    """A cluster without scorers gets it. An empty file is different."""
    found = snapshot.parse(content)
    assert found.complete
    assert found.empty
    assert not _parse(GOOD).empty
    assert not _parse({"name": 7}).empty
