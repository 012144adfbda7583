"""The Helm chart is what the renderer renders. What Helm makes of it: tests/hub/test_chart.py."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.support import yamlfast
from tools.chart import chart_files

ROOT = Path(__file__).parents[2]
CHART = ROOT / "chart/gitops-dsf"


def test_the_chart_is_fresh() -> None:
    found = {
        path.relative_to(CHART).as_posix(): path.read_text("utf-8")
        for path in CHART.rglob("*")
        if path.is_file()
    }
    assert found == chart_files(), "run `make chart`"


def test_its_values_are_what_their_schema_takes() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yamlfast.load((CHART / "values.yaml").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert values.keys() | {"global"} == schema["properties"].keys()
    for wrong in ({"replicas": 0}, {"imagePullPolicy": "Sometimes"}, {"replica": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(values | wrong, schema)
