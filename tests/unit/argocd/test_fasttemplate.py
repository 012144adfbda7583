"""Texts of Argo CD's older template language, as Go templates that give the same.

tests/hub/test_adoption.py compares what Argo CD makes of both.
"""

import pytest

from gitops_dsf.argocd.fasttemplate import as_go

PARAMETERS = ("name", "server")


@pytest.mark.parametrize(
    ("text", "go"),
    [
        ("plain", "plain"),
        ("web-{{name}}", "web-{{.name}}"),
        ("{{ name }}.{{server }}", "{{.name}}.{{.server}}"),
        ("{{name}} and {{ .Values.name }}", '{{.name}} and {{"{{"}} .Values.name }}'),
        ("{{unknown}}", '{{"{{"}}unknown}}'),
        ("{{.name}}", '{{"{{"}}.name}}'),
        ("{{ a {{name}}", '{{"{{"}} a {{"{{"}}name}}'),
        ("{{name}} {{ open", '{{.name}} {{"{{"}} open'),
        # No line has a whole tag, so Argo CD leaves the text alone.
        ("{{name\n}}", '{{"{{"}}name\n}}'),
        ("{{ open", '{{"{{"}} open'),
    ],
)
def test_a_text_as_a_go_template(text: str, go: str) -> None:
    assert as_go(text, PARAMETERS) == go
