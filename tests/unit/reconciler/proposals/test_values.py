"""Names of branches, texts for people, and what a leader remembers."""

import re

import pytest

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.proposals.memory import Absences, Memory
from gitops_dsf.reconciler.proposals.message import check_template, commit_message, request_body, title
from gitops_dsf.reconciler.proposals.proposal import Kind, Naming, Proposal, Subject

CPU = Subject(kind=Kind.LOCKS, scorer="cpu.predictor")
CLUSTERS = Subject(kind=Kind.INVENTORY)


def proposal(
    subject: Subject = CPU, *, details: tuple[str, ...] = ("a: 1 -> 2",), **files: bytes | None
) -> Proposal:
    return Proposal(
        subject=subject, files=files or {"locks/cpu.yaml": b"x"}, title="Accept it", details=details
    )


def test_a_branch_is_named_by_content() -> None:
    naming = Naming(prefix="gitops-dsf/")
    branch = naming.branch(proposal())
    assert re.fullmatch(r"gitops-dsf/locks-cpu\.predictor-[0-9a-f]{16}", branch)
    assert naming.branch(proposal(details=("other words",))) == branch
    assert naming.subject(branch) == CPU
    assert naming.subject(naming.branch(proposal(CLUSTERS))) == CLUSTERS
    digests = {
        proposal(a=b"1").digest,
        proposal(a=b"").digest,
        proposal(a=None).digest,
        proposal(b=b"1").digest,
        proposal(a=b"1", b=b"").digest,
    }
    assert len(digests) == 5


@pytest.mark.parametrize(
    "branch",
    [
        "main",
        "gitops-dsf/",
        "gitops-dsf/inventory",
        "gitops-dsf/inventory-123",
        "gitops-dsf/inventory-0123456789abcdeX",
        "gitops-dsf/locks--0123456789abcdef",
        "gitops-dsf/locks-a/b-0123456789abcdef",
        "gitops-dsf/eu/inventory-0123456789abcdef",
        "other/inventory-0123456789abcdef",
    ],
)
def test_branches_of_others_are_not_ours(branch: str) -> None:
    assert Naming(prefix="gitops-dsf/").subject(branch) is None


def test_every_fleet_of_a_repository_has_its_own_names() -> None:
    one, other = Naming(prefix="gitops-dsf/", folder="fleets/eu west"), Naming(prefix="gitops-dsf/")
    branch = one.branch(proposal())
    assert branch.startswith("gitops-dsf/fleets/eu-west/locks-")
    assert one.subject(branch) == CPU
    assert other.subject(branch) is None
    assert one.all == "gitops-dsf/fleets/eu-west/*"


@pytest.mark.parametrize("prefix", ["", "/a", "a//", "a..b", "a/.b", "-a", "a b", "a~", "a.lock/", "a@{b"])
def test_prefixes_that_git_refuses_are_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match="branchPrefix"):
        Naming(prefix=prefix)


@pytest.mark.parametrize("prefix", ["gitops-dsf/", "gitops", "team/a_b.c-", "proposals."])
def test_prefixes_that_settings_allow_are_taken(prefix: str) -> None:
    naming = Naming(prefix=prefix)
    assert naming.subject(naming.branch(proposal())) == CPU


def test_messages() -> None:
    message = commit_message(proposal(), template="")
    assert message.splitlines()[:2] == ["Accept it", ""]
    assert message.endswith("- a: 1 -> 2")
    assert commit_message(
        proposal(details=("{subject}",)), template="fix: {subject} {{x}}\n\n{body}"
    ).startswith("fix: Accept it {x}\n\n")
    for wrong, words in (
        ("{subject", "no partner"),
        ("{title}", "{title} is not known"),
        ("{subject.__class__}", "is not known"),
    ):
        with pytest.raises(UsageError, match=re.escape(words)):
            check_template(wrong)
    check_template("")
    check_template("{subject}\n{body}\n{{}}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fixes #12", "fixes # 12"),
        ("Closes team/fleet#12.", "Closes team/fleet# 12."),
        ("resolves GH-7", "resolves GH- 7"),
        ("fix https://github.com/o/r/issues/12", "fix https://github.com/o/r/issues/ 12"),
        ("see https://gitlab.com/o/r/-/merge_requests/3", "see https://gitlab.com/o/r/-/merge_requests/ 3"),
        ("closes !12 and &3", "closes ! 12 and & 3"),
        ("@alice, (@team/ops) @@bob", "@ alice, (@ team/ops) @@bob"),
        ("PROJ-1 #close", "PROJ-1 # close"),
        ("[skip ci]", "(skip ci)"),
        ("tom@example.com", "tom@example.com"),
        ("https://u.example.com/a?b=1&c=2#d", "https://u.example.com/a?b=1&c=2# d"),
        ("up{a!=1}", "up{a!=1}"),
    ],
)
def test_texts_of_strangers_close_nothing_and_mention_nobody(text: str, shown: str) -> None:
    """In the commit, in the pull request's text, which a squashed commit repeats, and in both titles."""
    item = proposal(details=(text,))
    assert commit_message(item, template="").endswith(f"- {shown}")
    assert f"text\n{shown}\n" in request_body(item)
    titled = Proposal(subject=CPU, files={}, title=text, details=())
    assert commit_message(titled, template="").startswith(f"{shown}\n")
    assert title(titled) == shown


@pytest.mark.parametrize(
    "words",
    ["[skip ci]", "[ci skip]", "[no ci]", "[Skip Actions]", "[actions skip]", "[ci-skip]", "[[skip ci]]"],
)
def test_texts_of_strangers_command_neither_ci_nor_forge(words: str) -> None:
    message = commit_message(
        proposal(details=(f"description: a -> {words} fixes #12", "query: rate(x[5m])")), template=""
    )
    assert words not in message
    assert not re.search(r"\[(skip|ci|no|actions)[ -](ci|skip|actions)\]|#[0-9]", message, re.IGNORECASE)
    assert "rate(x[5m])" in message


def test_long_lists_are_cut_and_fences_hold() -> None:
    body = request_body(proposal(details=tuple(f"{number} ```" for number in range(300))))
    assert "199 ```\nand 100 more\n````\n" in body
    assert "\n````text\n0 ```\n" in body


def test_absence_is_counted_from_the_first_look_without_a_break() -> None:
    absences = Absences(seconds=600)
    assert absences.observe(known=["a", "b"], present=["a"], now=0) == []
    assert absences.observe(known=["a", "b"], present=["a", "b"], now=500) == []
    assert absences.observe(known=["a", "b"], present=["a"], now=700) == []
    assert absences.observe(known=["a", "b"], present=["a"], now=1299) == []
    assert absences.observe(known=["a", "b"], present=["a"], now=1300) == ["b"]
    assert absences.observe(known=["a"], present=["a"], now=1301) == []


def test_looks_must_agree_for_a_while() -> None:
    memory = Memory()
    assert not memory.observed_before(CPU, "1", 0)
    assert not memory.observed_before(CPU, "1", 29)
    assert not memory.observed_before(CPU, "2", 30)
    assert memory.observed_before(CPU, "2", 60)
    memory.unsure(CPU, 61)
    assert not memory.observed_before(CPU, "2", 62)
    assert not memory.observed_before(CLUSTERS, "", 100)
    assert memory.observed_before(CLUSTERS, "", 130)


def test_everyone_gets_a_turn() -> None:
    memory = Memory()
    subjects = [Subject(kind=Kind.LOCKS, scorer=name) for name in "abcde"]
    seen = []
    for _ in range(5):
        for subject in memory.in_turn(subjects, 2):
            seen.append(subject.scorer)
            memory.observed_before(subject, "", len(seen))
    assert "".join(seen) == "abcdeabcde"


def test_pushes_are_apart() -> None:
    memory = Memory()
    assert memory.may_push(CPU, 0)
    memory.pushed(CPU, 0)
    assert not memory.may_push(CPU, 599)
    assert memory.may_push(CLUSTERS, 1)
    assert memory.may_push(CPU, 600)


def _pushes(memory: Memory, *, begin: int, end: int) -> list[int]:
    """Minutes at which a subject that always has something new is pushed."""
    found = []
    for minute in range(begin, end):
        if memory.may_push(CPU, minute * 60):
            memory.pushed(CPU, minute * 60)
            found.append(minute)
    return found


def test_a_page_that_flips_pushes_less_and_less_often() -> None:
    memory = Memory()
    first = _pushes(memory, begin=0, end=24 * 60)
    assert first[:6] == [0, 10, 30, 70, 150, 310]
    assert len(first) == 10
    assert len(_pushes(memory, begin=24 * 60, end=48 * 60)) == 6


def test_the_first_pause_counts_again_after_a_quiet_time() -> None:
    memory = Memory()
    last = _pushes(memory, begin=0, end=24 * 60)[-1] * 60
    again = last + 8 * 3600
    memory.pushed(CPU, again)
    assert memory.may_push(CPU, again + 600)
    memory.pushed(CPU, again + 600)
    assert not memory.may_push(CPU, again + 1200)


def test_a_branch_that_people_deleted_is_remembered_for_a_day() -> None:
    memory = Memory()
    memory.observe({"a": CPU, "b": CPU, "c": CLUSTERS}, 0)
    memory.removed("b")
    memory.observe({"c": CLUSTERS}, 60)
    memory.wanted(CPU, "a", 60)
    assert (memory.declined("a"), memory.declined("b"), memory.declined("c")) == (True, False, False)
    memory.observe({"c": CLUSTERS}, 86_000)
    assert memory.declined("a")
    memory.observe({"c": CLUSTERS}, 86_460)
    assert not memory.declined("a")
    memory.observe({}, 90_000)
    memory.observe({"c": CLUSTERS}, 90_001)
    memory.wanted(CLUSTERS, "c", 90_001)
    assert not memory.declined("c"), "somebody put it back"


@pytest.mark.parametrize("now_wanted", ["", "newer"])
def test_a_branch_that_people_deleted_after_its_merge_was_not_refused(now_wanted: str) -> None:
    memory = Memory()
    memory.observe({"a": CPU}, 0)
    memory.observe({}, 60)
    memory.wanted(CLUSTERS, "a", 60)
    memory.wanted(CPU, now_wanted, 60)
    memory.wanted(CPU, "a", 3600)
    assert not memory.declined("a")


def test_nothing_is_concluded_from_a_branch_that_vanished_before_its_subject_was_judged() -> None:
    memory = Memory()
    memory.observe({"a": CPU}, 0)
    memory.observe({}, 60)
    memory.observe({}, 120)
    assert not memory.declined("a")
    memory.wanted(CPU, "a", 180)
    assert memory.declined("a")


def test_a_direct_commit_that_people_reverted_is_remembered_for_a_day() -> None:
    memory = Memory()
    assert not memory.reverted(CPU, "a", 0)
    memory.committed(CPU, "a")
    assert memory.reverted(CPU, "a", 100)
    assert memory.reverted(CPU, "a", 200)
    assert not memory.reverted(CPU, "a", 86_500)


def test_a_page_that_goes_back_and_forth_was_not_reverted_by_people() -> None:
    memory = Memory()
    memory.committed(CPU, "a")
    memory.committed(CPU, "b")
    assert not memory.reverted(CPU, "a", 100)
    assert memory.reverted(CPU, "b", 100)
