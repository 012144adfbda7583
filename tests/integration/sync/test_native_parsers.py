"""Texts of a page that would overflow the stack of a native parser, read by the program as a process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.integration.sync.conftest import SOURCE, Repository
from tests.integration.sync.test_sync import page
from tests.support.pageserver import PageServer, says

DEEP = {
    "escapes": 'up{a="' + "\\n" * 30_000 + '"}',
    "comments": "#\n" * 30_000 + "up",
    "comments between matchers": "up{" + "#\n" * 30_000 + 'a="b"}',
    "escapes beside a mistake": "rate(up) + absent(up{a=`" + "\\n" * 30_000 + '`}) + "' + "\\n" * 1_000 + '"',
}
LONG = {
    "escapes": 'up{a="' + "\\n" * 1_500 + '"}',
    "comments": "# of the team\n" * 1_000 + "up",
    "back-quotes": "up{a=~`" + r"\d" * 3_000 + "`}",
}


def verb(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gitops_dsf", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_query_that_would_crash_the_parser_is_a_finding(repository: Repository) -> None:
    for name, query in DEEP.items():
        written(repository, query, name=name.replace(" ", "-"))
    done = verb(repository.root, "validate")
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.findall(r"^scorers/(\S+)\.yaml:.*DSF109: PromQL: ", done.stdout, re.MULTILINE)
    assert set(found) == {name.replace(" ", "-") for name in DEEP}


@pytest.mark.parametrize("query", LONG.values(), ids=LONG)
def test_a_long_query_is_accepted(
    query: str, repository: Repository, server: PageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pages["/config"] = says(**page(query=query))
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 0
    written(repository, query)
    assert main(["validate", str(repository.root)]) == 0
    assert "PromQL" not in capsys.readouterr().out


def test_a_long_text_is_searched_for_secrets_once(repository: Repository) -> None:
    """A search that reads the rest of the text from each possible start takes a quarter of an hour."""
    written(repository, "up", description="-eyJ" * 220_000)
    done = verb(repository.root, "validate")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def written(repository: Repository, query: str, name: str = "cpu", **spec: str) -> None:
    """Writes the scorer into the repository, so that no lock is needed."""
    source = {**SOURCE, "type": "Prometheus", "path": "/api/v1/query", "params": {"query": query}}
    params = {"name": name, "interval": 60}
    scoring = {"host": "http://scorer.apps.svc:8080", "path": "/scoring", "params": params}
    url = "http://scorer.apps.svc:8080/config"
    repository.scorer(name, url, configSyncMode="None", source=source, scoring=scoring, **spec)
