"""Generators that Argo CD 3.6.1 refuses, and every one that it takes."""

import pytest

from tests.unit.resolve.rules.handwritten import BY_DECISION, told, written


@pytest.mark.parametrize(
    ("generators", "line"),
    [([], "generators: []"), ([{}], "{}"), ([{"selector": {}}], "selector: {}")],
)
def test_a_set_without_generators_generates_nothing(generators: object, line: str) -> None:
    assert told(("DSF413", line), among=written(generators=generators))


@pytest.mark.parametrize(
    "generators",
    [
        [{"clusters": {}}],
        [
            {
                "git": {
                    "repoURL": "git@github.com:acme/web.git",
                    "revision": "HEAD",
                    "files": [{"path": "**/config.json"}],
                }
            }
        ],
        [{"scmProvider": {"github": {"organization": "acme"}}}],
        [{"pullRequest": {"github": {"owner": "acme", "repo": "web"}}}],
        [{"plugin": {"configMapRef": {"name": "p"}}}],
        [{"matrix": {"generators": [{"clusters": {}}, {"list": {"elements": []}}]}}],
        [{"merge": {"mergeKeys": ["server"], "generators": [BY_DECISION, {"clusters": {}}]}}],
    ],
)
def test_every_generator_of_argocd_passes(generators: object) -> None:
    assert written(generators=generators) == []
