"""The variables that the runners of forges set for a pull request with the number 3."""

import json
from pathlib import Path
from typing import Any, Final

from tests.support.githubserver import NAME, OWNER

TOKEN: Final = "s3cret"


def github_variables(url: str, folder: Path, *, base: str, fork: bool = False) -> dict[str, str]:
    """Those of GitHub, with the API at a URL. The event of the run is written into the folder."""
    head = {"sha": "", "repo": {"full_name": "stranger/fleet" if fork else f"{OWNER}/{NAME}"}}
    pull: dict[str, Any] = {"number": 3, "base": {"sha": base}, "head": head}
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": pull}), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}",
        "GITHUB_API_URL": url,
        "GITHUB_TOKEN": TOKEN,
    }


def gitlab_variables(url: str, *, base: str) -> dict[str, str]:
    """Those of GitLab, with the API at a URL."""
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": url,
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "3",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "GITOPS_DSF_COMMENT_TOKEN": TOKEN,
    }
