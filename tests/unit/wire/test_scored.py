"""The reasons of the condition Scored: every failure of an agent has one."""

import pytest

from dsf_wire.scored import Reason, Stage, condition_message, known_reason, scored_reason


@pytest.mark.parametrize(
    ("stage", "reason", "expected"),
    [
        ("fetch", "unreachable", "SourceUnreachable"),
        ("fetch", "timeout", "SourceUnreachable"),
        ("fetch", "tls", "SourceUnreachable"),
        ("fetch", "connection_lost", "SourceUnreachable"),
        ("fetch", "server_error", "SourceFailed"),
        ("fetch", "invalid_body", "SourceFailed"),
        ("fetch", "query_unavailable", "SourceFailed"),
        ("fetch", "query_bad_data", "QueryFailed"),
        ("fetch", "query_timeout", "QueryFailed"),
        ("fetch", "partial_answer", "PartialAnswer"),
        ("fetch", "unauthorized", "Unauthorized"),
        ("score", "forbidden", "Unauthorized"),
        ("fetch", "token_unavailable", "CredentialsMissing"),
        ("score", "ca_unavailable", "CredentialsMissing"),
        ("score", "unreachable", "ScoringApiUnreachable"),
        ("score", "timeout", "ScoringApiUnreachable"),
        ("score", "server_error", "ScoringApiFailed"),
        ("score", "not_found", "ScoringApiFailed"),
        ("score", "throttled", "ScoringApiFailed"),
        ("score", "invalid_body", "InvalidResults"),
        ("score", "no_results", "NoResults"),
        ("fetch", "too_large", "TooLarge"),
        ("score", "too_large", "TooLarge"),
        ("publish", "too_large", "TooLarge"),
        ("publish", "invalid_object", "PublishFailed"),
        ("publish", "forbidden", "PublishFailed"),
        ("score", "internal", "InternalError"),
    ],
)
def test_the_reason_says_who_must_do_something(stage: Stage, reason: str, expected: str) -> None:
    assert scored_reason(Reason(reason), stage=stage) == expected


@pytest.mark.parametrize("stage", ["fetch", "score", "publish"])
def test_every_failure_has_a_reason_that_the_hub_knows(stage: Stage) -> None:
    for reason in Reason:
        assert known_reason(scored_reason(reason, stage=stage)) not in {"Other", "Scored"}


def test_the_hub_counts_what_it_does_not_know_as_other() -> None:
    assert known_reason("FromTheFuture") == "Other"
    assert known_reason("") == "Other"


def test_a_message_is_one_line_of_at_most_256_printable_characters() -> None:
    assert condition_message("a\nb\x1b[31m\u202e") == "a\\nb\\x1b[31m\\u202e"
    assert len(condition_message("x" * 300)) == 256
    assert condition_message("x" * 256) == "x" * 256
