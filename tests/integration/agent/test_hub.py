"""Publishing to a hub: what is written and when, how a hub can fail, and its credentials."""

import asyncio
import base64
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tests.support.agent.certificates import Authority
from tests.support.agent.faults import EAGER
from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import (
    FakeScoring,
    PeerFault,
    RecordedRequest,
    SentReply,
    scores,
)
from tests.support.agent.hub import ScoreHub, failure, kubeconfig, timestamp
from tests.support.agent.running import SHORT, AgentFolder, RunningAgent, entry, running
from tests.support.inmemory import InMemory
from tests.support.waiting import until


def _is_score(seen: RecordedRequest) -> bool:
    return "addonplacementscores" in seen.path


def _on(
    match: Callable[[RecordedRequest], bool], answer: SentReply | PeerFault
) -> Callable[[RecordedRequest], SentReply | PeerFault | None]:
    return lambda seen: answer if match(seen) else None


PUBLISHED = ["POST AddOnPlacementScore cpu-score", "PATCH AddOnPlacementScore cpu-score/status"]
FAULTS: dict[str, tuple[Callable[[RecordedRequest], SentReply | PeerFault | None], str]] = {
    "resets": (_on(_is_score, PeerFault()), "connection_lost"),
    "hangs": (_on(_is_score, PeerFault(hang=True)), "timeout"),
    "forbidden": (_on(_is_score, failure(403, "forbidden: User cannot patch")), "forbidden"),
    "unauthorized": (_on(_is_score, failure(401, "Unauthorized")), "unauthorized"),
    "conflict": (
        _on(lambda seen: seen.method == "PATCH", failure(409, "Apply failed with 1 conflict")),
        "conflict",
    ),
    "no-status": (
        _on(lambda seen: seen.path.endswith("/status"), failure(404, "not found")),
        "not_found",
    ),
    "no-namespace": (
        _on(lambda seen: seen.method == "POST", failure(404, "not found")),
        "not_found",
    ),
    "invalid": (
        _on(lambda seen: seen.method == "PATCH", failure(422, "status.scores: Invalid value")),
        "invalid_object",
    ),
    "throttled": (_on(_is_score, SentReply(status=429, headers={"Retry-After": "1"})), "throttled"),
    "server-error": (_on(_is_score, failure(500, "etcd leader changed")), "server_error"),
    "too-large": (
        _on(lambda seen: seen.method == "PATCH", failure(500, "etcdserver: request is too large")),
        "too_large",
    ),
    "not-json": (_on(_is_score, SentReply(body=b"<html>proxy</html>")), "invalid_body"),
}


async def test_a_hub_that_fails_delays_no_cycle_and_gets_the_newest_scores_later(
    tmp_path: Path,
) -> None:
    async def story(name: str) -> None:
        hub, api = ScoreHub(), FakeScoring(1.0)
        hub.before, reason = FAULTS[name]
        place = AgentFolder(tmp_path / name)
        async with hub as server, InMemory(api) as scoring:
            place.put(
                *(
                    entry(one, scoring=f"{scoring.url}/{one}", scoringInterval=1, publish=EAGER)
                    for one in ("cpu", "mem")
                )
            )
            # A healthy hub has its time also where the machine is busy; one that hangs need not
            # have as much.
            waits = replace(SHORT, hub=2) if name == "hangs" else SHORT
            async with place.agent(hub=server, waits=waits) as agent:
                for one in ("cpu", "mem"):
                    await until(
                        lambda one=one: len(scoring.to(one)) >= 4, what=f"cycles go on: {name}"
                    )
                    # The second run falls on the grid, half an interval to one and a half after the
                    # first; then one a second.
                    assert_on_grid(scoring.to(one)[1:], grid=grid_of(one), least=2)
                await until(lambda: _counted(agent, reason), what=f"the reason is counted: {name}")
                assert agent.scorer()["publish"]["reason"] == reason, name
                assert hub.values("cpu-score") == {}, name
                assert await agent.exposed() == {"cpu-score", "mem-score"}, name
                api.values = (42.0,)
                hub.before = lambda _seen: None
                await until(
                    lambda: hub.values("cpu-score") == {"n0": 42}, what=f"the newest value: {name}"
                )
                await until(
                    lambda: agent.scorer()["publish"] is None, what=f"no fault any more: {name}"
                )
                assert agent.scorer()["failures"] == 0, name

    await asyncio.gather(*(story(name) for name in FAULTS))


async def test_a_restart_does_not_write_published_scores_again(place: AgentFolder) -> None:
    hub = ScoreHub()
    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with place.agent(hub=server):
            await until(lambda: hub.values("cpu-score"), what="published")
        written = list(hub.writes)
        assert written == PUBLISHED
        async with place.agent(hub=server):
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 3, what="three more cycles")
        assert hub.writes == written
        hub.scores["c1", "cpu-score"]["status"]["validUntil"] = timestamp(hub.now() + 400)
        async with place.agent(hub=server):
            await until(lambda: hub.writes != written, what="a refresh after half of the TTL")
        assert (
            datetime.fromisoformat(
                hub.scores["c1", "cpu-score"]["status"]["validUntil"]
            ).timestamp()
            > hub.now() + 880
        )


async def _counted(agent: RunningAgent, reason: str) -> bool:
    """Whether the metrics count it, which are asked for once the scorer says it."""
    told = agent.scorer().get("publish") or {}
    return told.get("reason") == reason and reason in (await agent.failures()).get("cpu-score", ())


async def test_a_list_of_suspended_scorers_of_an_older_reconciler_is_ignored(
    place: AgentFolder,
) -> None:
    """So is the flag that names its namespace, which older generators render."""
    hub = ScoreHub()
    data = {"scorers": '["cpu-score"]'}
    hub.put("configmaps", "gitops-dsf-suspended", namespace="open-cluster-management", data=data)
    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        flags = ("--hub-namespace", "open-cluster-management")
        async with place.agent(*flags, hub=server) as agent:
            await until(lambda: hub.values("cpu-score"), what="published")
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 3, what="three more cycles")
            assert agent.scorer()["state"] == "running"


class Restless(FakeScoring):
    """Another score each time, so that the agent writes to the hub all the time, until a test sets
    it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(10)

    def __call__(self, seen: RecordedRequest) -> SentReply:
        return scores(*self.values or (float(next(self._numbers) % 50),))(seen)


async def test_the_hubs_token_and_address_are_read_again(place: AgentFolder) -> None:
    """OCM's registration may take minutes: until its file exists, cycles run and the reason is
    counted. After a 401 the kubeconfig is read at once. When the file changes, it is read without a
    401.
    """
    hub, config = ScoreHub(), place.folder / "hub" / "kubeconfig"
    async with hub as server, InMemory(hub.answer) as moved, InMemory(Restless()) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with running(
            "--config-dir", place.volume.directory, "--hub-kubeconfig", config
        ) as agent:
            await until(lambda: _counted(agent, "bad_credentials"), what="the file is missed")
            await until(lambda: len(scoring.seen) >= 3, what="cycles go on")
            assert await agent.exposed() == {"cpu-score"}
            kubeconfig(config, server=server.url)
            await until(lambda: hub.values("cpu-score"), what="published")
            hub.token = "better"
            kubeconfig(config, server=server.url, token="better")
            await until(
                lambda: server.seen[-1].headers["authorization"] == "Bearer better",
                what="the new token is used",
            )
            kubeconfig(config, server=moved.url, token="better")
            await until(lambda: moved.seen, what="the new address is used")
            config.write_text(": not yaml [")
            calls = len(moved.seen)
            await until(
                lambda: len(moved.seen) > calls + 1,
                what="a damaged file leaves the old credentials in use",
            )
            assert await agent.failures() == {"cpu-score": {"bad_credentials"}}


def _serial(seen: RecordedRequest) -> object:
    return (seen.peer_certificate or {}).get("serialNumber")


async def test_the_hubs_ca_and_the_client_certificate_are_those_of_now(
    place: AgentFolder, tmp_path: Path
) -> None:
    """OCM renews the client certificate in its file; the next connection uses the new one.

    The CA is what the kubeconfig says, not the system's: after a certificate of another authority
    nothing is sent until then.
    """
    first, second, clients = Authority("first"), Authority("second"), Authority("clients")
    folder = tmp_path / "hub-kubeconfig"
    server, api = (
        ScoreHub(
            token="",
            tls=first.server(tmp_path / "one", client_authority=clients),
            on_wire=True,
        ),
        Restless(),
    )
    server.before = lambda seen: None if seen.peer_certificate else SentReply(status=401)
    clients.pair(folder, name="agent")
    await server.start()

    def trusting(authority: Authority) -> Path:
        inline = base64.b64encode(authority.pem.encode()).decode()
        more = {"certificate-authority-data": inline}
        config = kubeconfig(folder / "kubeconfig", server=server.url, token="", **more)
        user = "user: {client-certificate: tls.crt, client-key: tls.key}"
        config.write_text(config.read_text().replace("user: {}", user))
        return config

    config = trusting(first)
    async with InMemory(api) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with running(
            "--config-dir", place.volume.directory, "--hub-kubeconfig", config
        ) as agent:
            await until(lambda: server.values("cpu-score"), what="published")
            before = _serial(server.seen[-1])
            clients.pair(folder, name="agent")
            await until(
                lambda: _serial(server.seen[-1]) != before, what="the new certificate is shown"
            )
            assert await agent.failures() == {}
            api.values = (5.0,)
            await until(lambda: server.values("cpu-score") == {"n0": 5}, what="the last score")
            await server.refuse()
            server.use_tls(second.server(tmp_path / "two", client_authority=clients))
            await server.start()
            api.values, calls = (6.0,), len(server.seen)
            await until(lambda: _counted(agent, "tls"), what="the new certificate is not trusted")
            assert (server.values("cpu-score"), len(server.seen)) == ({"n0": 5}, calls)
            trusting(second)
            await until(lambda: server.values("cpu-score") == {"n0": 6}, what="published again")
    await server.stop()


def _stated(hub: ScoreHub, name: str = "cpu-score") -> tuple[str, str] | None:
    status = hub.scores.get(("c1", name), {}).get("status") or {}
    for condition in status.get("conditions", []):
        return condition["status"], condition["reason"]
    return None


async def test_a_broken_edit_is_told_on_the_hub_and_leaves_the_scores_as_they_are(
    place: AgentFolder,
) -> None:
    hub, api = ScoreHub(), FakeScoring(7.0)
    async with hub as server, InMemory(api) as scoring:
        place.put(entry("cpu", scoring=scoring.url))
        async with place.agent(hub=server):
            await until(lambda: _stated(hub) == ("True", "Scored"), what="published")
            before = hub.scores["c1", "cpu-score"]["status"]
            place.put(entry("cpu", scoring="http://127.0.0.1:9/"))
            await until(
                lambda: _stated(hub) == ("False", "ScoringApiUnreachable"), what="the reason"
            )
            after = hub.scores["c1", "cpu-score"]["status"]
            assert (after["scores"], after["validUntil"]) == (
                before["scores"],
                before["validUntil"],
            )
            place.put(entry("cpu", scoring=scoring.url))
            await until(lambda: _stated(hub) == ("True", "Scored"), what="it works again")


async def test_a_scorer_without_any_score_has_an_object_with_the_reason_alone(
    place: AgentFolder,
) -> None:
    hub = ScoreHub()
    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        place.put(entry("cpu", scoring="http://127.0.0.1:9/"))
        async with place.agent(hub=server):
            await until(
                lambda: _stated(hub) == ("False", "ScoringApiUnreachable"), what="the reason"
            )
            status = hub.scores["c1", "cpu-score"]["status"]
            assert status.keys() == {"conditions"}
            [condition] = status["conditions"]
            assert "127.0.0.1:9" in condition["message"]
            since = datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()
            assert abs(since - hub.now()) < 60
            place.put(entry("cpu", scoring=scoring.url))
            await until(lambda: hub.values("cpu-score") == {"n0": 7}, what="a score")
            assert _stated(hub) == ("True", "Scored")
            place.put()
            await until(lambda: not hub.scores, what="the object goes with its scorer")


async def test_a_right_that_is_missing_for_a_while_does_not_count_as_a_refused_condition(
    place: AgentFolder,
) -> None:
    hub, api = ScoreHub(), FakeScoring(7.0)
    refusing = True
    refused: list[bytes] = []

    def before(seen: RecordedRequest) -> SentReply | None:
        if not refusing or seen.method != "PATCH":
            return None
        refused.append(seen.body)
        user = "system:open-cluster-management:cluster:c1"
        return failure(403, f'User "{user}" cannot patch resource "addonplacementscores/status"')

    hub.before = before
    async with hub as server, InMemory(api) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with place.agent(hub=server):
            await until(lambda: len(refused) > 2, what="some attempts")
            assert all(b'"conditions"' in body for body in refused), "nothing is tried twice"
            refusing = False
            await until(lambda: hub.values("cpu-score") == {"n0": 7}, what="published")
            assert _stated(hub) == ("True", "Scored"), "with the first write"


async def test_the_reason_of_a_removed_scorer_goes_with_it(place: AgentFolder) -> None:
    hub = ScoreHub()
    async with hub as server:
        place.put(entry("cpu", scoring="http://127.0.0.1:9/"))
        async with place.agent(hub=server):
            await until(lambda: _stated(hub) is not None, what="the reason")
        place.put()
        async with place.agent(hub=server):
            await until(lambda: not hub.scores, what="also by a process that never named it")


async def test_an_entry_that_cannot_run_is_told_on_the_hub_and_its_scores_stay(
    place: AgentFolder,
) -> None:
    hub, api = ScoreHub(), FakeScoring(7.0)
    async with hub as server, InMemory(api) as scoring:
        good = entry("cpu", scoring=scoring.url)
        place.put(good)
        async with place.agent(hub=server) as agent:
            await until(lambda: _stated(hub) == ("True", "Scored"), what="published")
            before = hub.scores["c1", "cpu-score"]["status"]
            place.put({**good, "scoringInterval": "thirty"}, entry("mem", scoring="ftp://api"))
            invalid = ("False", "InvalidConfiguration")
            await until(lambda: _stated(hub) == invalid, what="unreadable")
            await until(lambda: _stated(hub, "mem-score") == invalid, what="cannot run")
            after = hub.scores["c1", "cpu-score"]["status"]
            assert {**after, "conditions": []} == {**before, "conditions": []}
            assert "scoringInterval" in after["conditions"][0]["message"]
            assert hub.scores["c1", "mem-score"]["status"].keys() == {"conditions"}
            metrics = (await agent.get("/metrics")).text
            gauge = "gitops_dsf_agent_clusters_without_scores"
            assert f'{gauge}{{reason="InvalidConfiguration",score_name="mem-score"}} 1.0' in metrics
            place.put(good)
            await until(lambda: _stated(hub) == ("True", "Scored"), what="it works again")
            await until(lambda: list(hub.scores) == [("c1", "cpu-score")], what="mem went")
            assert "mem-score" not in (await agent.get("/metrics")).text


async def test_an_entry_that_another_runs_or_that_has_no_object_is_not_told(
    place: AgentFolder,
) -> None:
    hub, api = ScoreHub(), FakeScoring(7.0)
    async with hub as server, InMemory(api) as scoring:
        good = entry("cpu", scoring=scoring.url)
        place.put(
            good,
            entry("twin", scoring=scoring.url, scoreName="CPU_score"),
            entry("hub", scoring=scoring.url, runsOn="Hub", clusterLabel={"name": "cluster"}),
            entry("hidden", scoring="ftp://api", scoreDestination="None"),
            entry("dots", scoring="ftp://api", scoreName="a..b"),
            entry("number", scoring=scoring.url, scoreName=5),
            entry("last", scoring="ftp://api"),
        )
        async with place.agent(hub=server) as agent:
            await until(
                lambda: _stated(hub, "last-score") == ("False", "InvalidConfiguration"), what="told"
            )
            await until(lambda: _stated(hub) == ("True", "Scored"), what="published")
            assert sorted(hub.scores) == [("c1", "cpu-score"), ("c1", "last-score")]
            problems = agent.agent.ready().detail["configuration"]["problems"]
            assert [problem["index"] for problem in problems] == [1, 2, 3, 4, 5, 6]
            assert problems[0].keys() == {"index", "name", "reason"}


async def test_a_hub_whose_policy_refuses_conditions_gets_the_scores_without_one(
    place: AgentFolder,
) -> None:
    """The policy is in git, and may be of an older version than the agent."""
    hub, api = ScoreHub(), FakeScoring(7.0)
    hub.before = lambda seen: (
        failure(
            403,
            'addonplacementscores "cpu-score" is forbidden: ValidatingAdmissionPolicy'
            " 'gitops-dsf-scores' with binding 'gitops-dsf-scores' denied request: an agent gives"
            " an AddOnPlacementScore neither annotations nor conditions",
        )
        if seen.method == "PATCH" and b'"conditions"' in seen.body
        else None
    )
    async with hub as server, InMemory(api) as scoring:
        place.put(
            entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER),
            entry("mem", scoring="http://127.0.0.1:9/"),
        )
        async with place.agent(hub=server) as agent:
            await until(lambda: hub.values("cpu-score") == {"n0": 7}, what="published")
            api.values = (42.0,)
            await until(lambda: hub.values("cpu-score") == {"n0": 42}, what="a newer value")
            assert _stated(hub) is None
            assert agent.scorer()["publish"] is None
            assert await agent.failures() == {"mem-score": {"unreachable"}}
