"""schemas/output has the JSON of every verb that prints JSON, and the JSON of real runs is what it
says.

The runs are those of all tests that use `tests.support.commandline`; here are verbs that need no
hub.
"""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gitops_dsf.cli.main import VERBS, main, verb_parser
from gitops_dsf.cli.schema import output_schemas
from tests.support.commandline import gitops_dsf


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
    Draft202012Validator.check_schema(schema)
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
