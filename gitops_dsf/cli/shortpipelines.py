"""The short form of the pipelines and hooks of a new repository. They use the GitHub action, the GitLab
component and the pre-commit hooks of a release, where the template has every step.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

GITHUB: Final = ".github/workflows/gitops-dsf.yaml"
GITLAB: Final = ".gitlab-ci.yml"
HOOKS: Final = ".pre-commit-config.yaml"

_CHECKS: Final = re.compile(r"      - uses: actions/setup-python@.*?(?=\n  publish:)", re.DOTALL)
"""The steps of the job `check` after the checkout."""
_JOBS: Final = re.compile(r"^stages:.*", re.MULTILINE | re.DOTALL)
_HOOK: Final = re.compile(r"^      - id: .*\n", re.MULTILINE)

_ACTION: Final = """\
      - uses: {path}@{tag}   # better by commit (README.md, Pipelines): a tag can be moved
        with:
          prometheus: ${{{{ vars.GITOPS_DSF_PROMETHEUS }}}}   # turns the backtest on (README.md, Pipelines)
          prometheus-token: ${{{{ secrets.GITOPS_DSF_PROMETHEUS_TOKEN }}}}
"""
_COMPONENT: Final = """\
include:
  # GitLab finds components on its own server only: {repository}, or a mirror of it with this path.
  - component: $CI_SERVER_FQDN/{path}/fleet@{tag}
"""


def with_short_pipelines(
    template: Mapping[str, bytes], *, repository: str, version: str
) -> Mapping[str, bytes]:
    """The template with the short form. `repository` is the URL of gitops-dsf itself."""
    place = {"repository": repository, "path": urlsplit(repository).path.strip("/"), "tag": f"v{version}"}
    action, component = _ACTION.format_map(place), _COMPONENT.format_map(place)
    hooks = "".join(_HOOK.findall(template[HOOKS].decode()))
    return {
        **template,
        GITHUB: _CHECKS.sub(lambda _: action, template[GITHUB].decode(), count=1).encode(),
        GITLAB: _JOBS.sub(lambda _: component, template[GITLAB].decode()).encode(),
        HOOKS: f"repos:\n  - repo: {repository}\n    rev: {place['tag']}\n    hooks:\n{hooks}".encode(),
    }
