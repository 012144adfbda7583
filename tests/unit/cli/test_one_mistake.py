"""One mistake in the repository that `init` writes: the line that is wrong, and no other finding."""

import re
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main

REPOSITORY = "https://git.internal/platform/fleet.git"


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "fleet"
    assert (
        main(
            [
                "init",
                str(folder),
                "--with",
                "examples",
                "--git-url",
                REPOSITORY,
                "--registry",
                "registry.internal/dsf",
            ]
        )
        == 0
    )
    capsys.readouterr()
    return folder


def edit(fleet: Path, file: str, old: str, new: str) -> None:
    text = (fleet / file).read_text()
    assert text.count(old) == 1
    (fleet / file).write_text(text.replace(old, new))


def validate(fleet: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = main(["validate", str(fleet)])
    lines = capsys.readouterr().out.replace(f"{fleet}/", "").splitlines()
    return code, [line.strip() for line in lines]


CPU, SETTINGS, APP = "scorers/cpu-headroom.yaml", "gitops-dsf.yaml", "apps/guestbook.yaml"
UNCLOSED = "error DSF001: the quote that opens here is not closed: the fields below are part of its text"


@pytest.mark.parametrize(
    ("file", "old", "new", "finding", "hint"),
    [
        (
            CPU,
            "avg(rate(",
            "avg(ratee(",
            "error DSF110: PromQL: the function ratee is not known",
            "did you mean rate?",
        ),
        (
            CPU,
            "scoreRange:",
            "scorerange:",
            "error DSF013: scorerange is not a field of spec",
            "did you mean scoreRange?",
        ),
        (CPU, "description: Idle", 'description: "Idle', UNCLOSED, "close it on its line"),
        (
            SETTINGS,
            "shards: 1",
            "shards: two",
            'error DSF015: spec.output.shards must be a whole number, not the text "two"',
            (
                "shards: Number of works-NN directories; a cluster's directory depends on its name and this"
                " number only"
            ),
        ),
        (
            SETTINGS,
            "agent: {image: registry",
            "agent: {image: https://registry",
            (
                "error DSF016: spec.agent.image: https://registry.internal/dsf/gitops-dsf-agent:0.1.0 is not"
                " allowed"
            ),
            "write a container image such as registry.example.com/agent:1.0, without a scheme",
        ),
        (
            SETTINGS,
            "image: registry.internal/dsf/gitops-dsf-reconciler",
            "image: https://registry.internal/dsf/gitops-dsf-reconciler",
            (
                "error DSF016: spec.reconciler.image:"
                " https://registry.internal/dsf/gitops-dsf-reconciler:0.1.0 is not allowed"
            ),
            "write a container image such as registry.example.com/agent:1.0, without a scheme",
        ),
        (
            SETTINGS,
            REPOSITORY,
            "https://github.com/acme/fleet/tree/main",
            (
                "error DSF016: spec.git.url: https://github.com/acme/fleet/tree/main is a page to look at:"
                " write https://github.com/acme/fleet.git, and targetRevision: main"
            ),
            "",
        ),
        (
            SETTINGS,
            REPOSITORY,
            "https://git.example.com/platform/fleet.git",
            (
                "warning DSF175: spec.git.url is https://git.example.com/platform/fleet.git, which init wrote"
                " as an example: Argo CD finds no repository there"
            ),
            "write the URL that Argo CD clones",
        ),
        (
            APP,
            "https://github.com/argoproj/argocd-example-apps.git",
            "https://gitlab.com/acme/apps/-/tree/main",
            (
                "error DSF336: https://gitlab.com/acme/apps/-/tree/main is a page to look at, and nothing"
                " that Argo CD could fetch"
            ),
            "write repoURL: https://gitlab.com/acme/apps.git, and targetRevision: main",
        ),
    ],
)
def test_a_mistake_is_told_where_it_is_and_alone(
    fleet: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, finding: str, hint: str
) -> None:
    edit(fleet, file, old, new)
    line = next(n for n, text in enumerate((fleet / file).read_text().splitlines(), 1) if new in text)
    code, lines = validate(fleet, capsys)
    assert [re.sub(r":\d+: ", ": ", lines[0], count=1), *lines[1:]] == [
        f"{file}:{line}: {finding}",
        *filter(None, [hint]),
    ]
    assert code == int(not finding.startswith("warning"))


def test_init_refuses_the_page_of_a_forge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = "https://github.com/acme/fleet/tree/main"
    assert main(["init", str(tmp_path / "fleet"), "--git-url", page]) == 2
    assert f"{page!r} is not a git URL" in capsys.readouterr().err
