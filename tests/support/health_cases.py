"""The cases of argocd/health, in the format of Argo CD's own `health_test.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support import yamlfast

ARGOCD = Path(__file__).resolve().parents[2] / "argocd"
CHECKS = sorted((ARGOCD / "health").glob("*/*/health.lua"))


@dataclass(frozen=True, kw_only=True)
class HealthCase:
    """An object, and the exact result that the script of its kind must return."""

    script: Path
    input: Path
    status: str
    message: str

    @property
    def kind(self) -> str:
        return f"{self.script.parts[-3]}/{self.script.parts[-2]}"


def cases() -> list[HealthCase]:
    found = []
    for script in CHECKS:
        tests = yamlfast.load((script.parent / "health_test.yaml").read_text(encoding="utf-8"))[
            "tests"
        ]
        for test in tests:
            wanted = test["healthStatus"]
            case = HealthCase(
                script=script,
                input=script.parent / test["inputPath"],
                status=wanted["status"],
                message=wanted["message"],
            )
            found.append(case)
    return found


def read(path: Path) -> dict[str, Any]:
    item: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_PlainLoader)  # noqa: S506  a safe loader, without dates
    return item


class _PlainLoader(yaml.SafeLoader):
    """Times stay strings, as in JSON."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
