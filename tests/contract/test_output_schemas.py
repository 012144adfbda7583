"""The schemas in schemas/output.

Every verb that prints JSON has one, and the JSON of real runs is what it says.

The runs are those of all tests that use `tests.support.commandline`; here are verbs that need no
hub.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gitops_dsf.cli.main import VERBS, main, verb_parser
from gitops_dsf.cli.schema import output_schemas
from tests.support.commandline import gitops_dsf
from tests.support.outputs import check_output


def prints_json(verb: str) -> bool:
    return any(
        action.dest == "output" and "json" in (action.choices or ())
        for action in verb_parser(verb)._actions
    )


def test_every_verb_that_prints_json_has_a_schema() -> None:
    verbs = {verb for verb in VERBS if prints_json(verb)} | {"scorer-check", "scorer-try"}
    assert len(verbs) > 10
    assert set(output_schemas()) == verbs


@pytest.mark.parametrize("verb", output_schemas())
def test_a_schema_is_valid_and_allows_new_keys(verb: str) -> None:
    schema = output_schemas()[verb]
    jsonschema_rs.meta.validate(schema)
    assert not [
        name for name, part in schema["$defs"].items() if part.get("additionalProperties") is False
    ], "keys are only ever added"


@pytest.mark.parametrize(
    "command",
    [
        ["validate", "-o", "json"],
        ["test", "-o", "json"],
        ["simulate", "-o", "json"],
        ["simulate", "--scores", "hub.yaml", "-o", "json"],
    ],
    ids=" ".join,
)
def test_the_output_of_a_verb_is_what_its_schema_says(command: list[str], tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet")]) == 0
    (tmp_path / "fleet/hub.yaml").write_text(
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: HubSnapshot\n"
    )
    assert gitops_dsf(*command, cwd=tmp_path / "fleet").stdout


def test_findings_are_what_the_schema_says(tmp_path: Path) -> None:
    (tmp_path / "gitops-dsf.yaml").write_text("kind: FleetRepositry\n")
    assert gitops_dsf("validate", "-o", "json", cwd=tmp_path).returncode == 1


def printed_log(**changes: Any) -> str:
    record = {
        "id": "9d1843c7bdd15f81",
        "number": 1,
        "time": "2026-06-01T03:12:07Z",
        "kind": "Ordered",
        "placement": "kueue-system/gpu-jobs",
        "uid": "u",
    }
    record = {key: value for key, value in (record | changes).items() if value is not None}
    return json.dumps(
        {"journal": {"origin": "j", "problem": ""}, "records": [record], "skipped": []}
    )


def test_a_record_of_the_log_is_what_the_schema_says() -> None:
    assert check_output(["log", "-o", "json"], printed_log())


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"colour": "red"}, "records/0"),
        ({"placement": None}, "records/0"),
        ({"number": "1"}, "records/0/number"),
        ({"number": True}, "records/0/number"),
        ({"kind": "Ordred"}, "records/0/kind"),
        ({"time": "yesterday"}, "records/0/time"),
        ({"order": {"config": 1}}, "records/0/order"),
    ],
    ids=str,
)
def test_what_the_schema_does_not_say_is_no_output(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(AssertionError) as refusal:
        check_output(["log", "-o", "json"], printed_log(**wrong))
    assert f"{place}: " in str(refusal.value)
