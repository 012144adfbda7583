"""Proposals and previews on a real Gitea.

Pull requests, comments, refusals, and tokens with few rights.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.ci.environment import pipeline_run
from gitops_dsf.ci.sender import Sender as PipelineSender
from gitops_dsf.forge.address import address_of
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.forges import Gitea as Client
from gitops_dsf.forge.sending import ForgeError
from gitops_dsf.reconciler.forge import send
from gitops_dsf.reconciler.git.credentials import GitCredentials
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitea import ADMIN, BOT, NAME, Gitea
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.waiting import wait_for
from tests.integration.reconciler.proposals.proposalhub import SETTINGS, ProposalHub, cluster
from tests.integration.reconciler.replica import read_again
from tests.support.forges import BRANCH, MARKER, tell
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import ConfigPageServer

pytestmark = pytest.mark.family("gitea")

PROPOSES = "write:repository"
COMMENTS = "write:issue,read:user"


class GiteaPeople:
    def __init__(self, gitea: Gitea) -> None:
        self._gitea = gitea
        self.close, self.merge, self.comment = gitea.close, gitea.merge, gitea.comment

    def branch(self, name: str) -> None:
        clone = self._gitea.repository.clone
        git("commit", "--quiet", "--allow-empty", "--message", name, folder=clone)
        (clone / "more.txt").write_text(name)
        git("add", "--all", folder=clone)
        git("commit", "--quiet", "--message", "More", folder=clone)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{name}", folder=clone)
        git("reset", "--quiet", "--hard", "origin/main", folder=clone)


@pytest.fixture
def gitea(tmp_path: Path) -> Iterator[Gitea]:
    with Processes(logs=tmp_path / "logs") as processes:
        running = Gitea(binaries=obtain("gitea"), processes=processes, folder=tmp_path)
        running.repository.commit({"README.md": "A fleet\n"}, message="Begin")
        wait_for(
            lambda: not running.ask("GET", f"/repos/{ADMIN}/{NAME}")["empty"],
            what="the push is noticed",
        )
        yield running


def client(
    gitea: Gitea, folder: Path, scopes: str, *, base: str = "main", name: str = NAME
) -> Forge:
    """As the reconciler has it, with a token of these scopes."""
    secret = folder / f"secret-{scopes.replace(':', '-')}"
    secret.mkdir(exist_ok=True)
    (secret / "token").write_text(gitea.token(BOT, scopes))
    api, place = address_of(f"{gitea.url}/{ADMIN}/{name}.git", kind="Gitea")
    return Client(
        api=api,
        place=place,
        base=base,
        send=partial(send, credentials=GitCredentials(folder=secret)),
    )


async def test_gitea_does_what_every_forge_does(gitea: Gitea, tmp_path: Path) -> None:
    await tell(client(gitea, tmp_path, f"{PROPOSES},{COMMENTS}"), GiteaPeople(gitea))
    assert gitea.comments(1) == [
        (ADMIN, f"{MARKER}\nForged"),
        (ADMIN, "Looks good"),
        (BOT, f"{MARKER}\nNew"),
    ]


async def test_a_pull_request_is_found_below_pages_of_newer_ones_and_without_its_branch(
    gitea: Gitea, tmp_path: Path
) -> None:
    forge, people = client(gitea, tmp_path, PROPOSES, base="release/1"), GiteaPeople(gitea)
    git("push", "--quiet", "origin", "main:refs/heads/release/1", folder=gitea.repository.clone)
    people.branch(BRANCH)
    for _ in range(2):
        request = await forge.open(branch=BRANCH, title="A", body="")
        gitea.close(request.number)
    git("push", "--quiet", "origin", f":refs/heads/{BRANCH}", folder=gitea.repository.clone)
    people.branch("other")
    for _ in range(8):
        gitea.close((await forge.open(branch="other", title="B", body="")).number)
    found = await forge.latest(BRANCH)
    assert found is not None
    assert (found.number, found.refused) == (2, True)


async def test_what_a_token_lacks_is_told(gitea: Gitea, tmp_path: Path) -> None:
    GiteaPeople(gitea).branch(BRANCH)
    reads = client(gitea, tmp_path, "read:repository")
    assert await reads.latest(BRANCH) is None
    with pytest.raises(
        ForgeError,
        match=r"403 .*required=\[write:repository\].*; the token needs: the scope write:repository",
    ):
        await reads.open(branch=BRANCH, title="A", body="B")
    request = await client(gitea, tmp_path, PROPOSES).open(branch=BRANCH, title="A", body="B")
    for scopes, lacks in ((PROPOSES, r"\[read:issue\]"), ("read:issue", r"\[write:issue\]")):
        with pytest.raises(
            ForgeError, match=rf"403 .*required={lacks}.*; the token needs: the scopes"
        ) as said:
            await client(gitea, tmp_path, scopes).comment(request.number, MARKER, marker=MARKER)
        assert said.value.refused
    with pytest.raises(ForgeError, match="there is no such repository"):
        await client(gitea, tmp_path, PROPOSES, name="other").latest(BRANCH)
    wrong = Client(
        api=f"{gitea.url}/api/v1", place=f"{ADMIN}/{NAME}", send=PipelineSender("0" * 40)
    )
    with pytest.raises(ForgeError, match=r"401 .*; the token needs"):
        await wrong.comment(1, MARKER, marker=MARKER)


async def test_a_proposal_becomes_a_pull_request_with_a_preview_and_a_refusal_counts(
    gitea: Gitea, tmp_path: Path
) -> None:
    """The reconciler pushes, and opens pull requests, with a token that may do nothing else."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "token").write_text(gitea.token(BOT, PROPOSES))
    files = {f"clusters/c{number}.yaml": cluster(f"c{number}") for number in range(1, 6)}
    gitea.repository.commit({"gitops-dsf.yaml": SETTINGS, **files})
    with ConfigPageServer() as pages, GitServer(folder=tmp_path / "unused") as server:
        async with ObjectHub() as hub:
            scene = ProposalHub(
                hub=hub,
                server=server,
                repository=gitea.repository,
                pages=pages,
                secret=secret,
                work=tmp_path / "work",
                real="Gitea",
            )
            for number in range(1, 7):
                scene.joins(f"c{number}")
            async with scene.working() as working:
                await working.until(lambda: gitea.pulls, "a pull request is opened")
                (first,) = gitea.pulls
                assert (first["title"], first["user"]["login"]) == (
                    "Follow the hub in 1 cluster",
                    BOT,
                )
                assert first["head"]["label"] == scene.one
                scene.joins("c7")
                await read_again(working.view)
                await working.until(
                    lambda: len(gitea.pulls) == 2 and len(scene.proposals) == 1, "it is superseded"
                )
                second, first = gitea.pulls
                assert (first["state"], second["state"]) == ("closed", "open")
                assert f"Superseded by branch `{scene.one}`." in first["body"]
                assert await asyncio.to_thread(preview, gitea, second, tmp_path, "Old") == "added"
                assert await asyncio.to_thread(preview, gitea, second, tmp_path, "New") == "edited"
                assert gitea.comments(second["number"]) == [(BOT, f"{MARKER}\nNew")]
                gitea.close(second["number"])
                await working.looks_again("inventory", "refused")
            async with scene.working() as working:
                await working.looks_again("inventory", "refused")
            assert len(gitea.pulls) == 2


def preview(gitea: Gitea, pull: dict[str, Any], folder: Path, text: str) -> str:
    """Writes the comment as a job of Gitea Actions does."""
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": pull}))
    pipeline = pipeline_run(
        {
            "GITHUB_ACTIONS": "true",
            "GITEA_ACTIONS": "true",
            "GITHUB_API_URL": f"{gitea.url}/api/v1",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": f"{ADMIN}/{NAME}",
            "GITHUB_TOKEN": gitea.token(BOT, COMMENTS),
        }
    )
    assert pipeline.forge == "Gitea"
    assert pipeline.pull is not None
    forge, number = pipeline.pull
    return asyncio.run(forge.comment(number, f"{MARKER}\n{text}", marker=MARKER))
