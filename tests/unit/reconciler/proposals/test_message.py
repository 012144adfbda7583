"""Texts for people."""

import re

import pytest

from gitops_dsf.reconciler.proposals.texts import commit_message, request_body, title
from gitops_dsf.reconciler.proposals.workload import Change, ProposalKind


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fixes #12", "fixes # 12"),
        ("Closes team/fleet#12.", "Closes team/fleet# 12."),
        ("resolves GH-7", "resolves GH- 7"),
        ("fix https://github.com/o/r/issues/12", "fix https://github.com/o/r/issues/ 12"),
        (
            "see https://gitlab.com/o/r/-/merge_requests/3",
            "see https://gitlab.com/o/r/-/merge_requests/ 3",
        ),
        ("closes !12 and &3", "closes ! 12 and & 3"),
        ("@alice, (@team/ops) @@bob", "@ alice, (@ team/ops) @@bob"),
        ("PROJ-1 #close", "PROJ-1 # close"),
        ("[skip ci]", "[ skip ci]"),
        ("tom@example.com", "tom@example.com"),
        ("https://u.example.com/a?b=1&c=2#d", "https://u.example.com/a?b=1&c=2# d"),
        ("up{a!=1}", "up{a!=1}"),
    ],
)
def test_texts_of_strangers_close_nothing_and_mention_nobody(text: str, shown: str) -> None:
    """In the commit, in the pull request's text, which a squashed commit repeats, and in both
    titles.
    """
    item = Change(title="Accept it", details=[text])
    assert commit_message(ProposalKind.LOCKS, item).endswith(f"- {shown}")
    assert f"text\n{shown}\n" in request_body(ProposalKind.LOCKS, item)
    titled = Change(title=text)
    assert commit_message(ProposalKind.LOCKS, titled).startswith(f"{shown}\n")
    assert title(titled) == shown


@pytest.mark.parametrize(
    "words",
    [
        "[skip ci]",
        "[ci skip]",
        "[no ci]",
        "[Skip Actions]",
        "[actions skip]",
        "[ci-skip]",
        "[[skip ci]]",
    ],
)
def test_texts_of_strangers_command_neither_ci_nor_forge(words: str) -> None:
    details = [f"description: a -> {words} fixes #12", "query: rate(x[5m])"]
    message = commit_message(ProposalKind.LOCKS, Change(title="Accept it", details=details))
    assert words not in message
    assert not re.search(
        r"\[(skip|ci|no|actions)[ -](ci|skip|actions)\]|#[0-9]", message, re.IGNORECASE
    )
    assert "rate(x[5m])" in message


def test_long_lists_are_cut_and_fences_hold() -> None:
    body = request_body(
        ProposalKind.LOCKS, Change(details=[f"{number} ```" for number in range(300)])
    )
    assert "199 ```\nand 100 more\n````\n" in body
    assert "\n````text\n0 ```\n" in body
