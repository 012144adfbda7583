"""Who may ask for scores."""

from pathlib import Path

import pytest

from dsf_scorer import DefinitionError, ScorerApp, Series, Settings, scorer
from dsf_scorer.testing import ask, send


def app_with(settings: Settings) -> ScorerApp:
    @scorer(name="guarded", interval_seconds=60, settings=settings)
    def app(one: Series) -> float | None:
        return one.last

    return app


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("first\n")
    return file


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"authorization": "Bearer first"}, 200),
        ({"authorization": "bearer   first "}, 200),
        ({}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": "Bearer firs"}, 401),
        ({"authorization": "Bearer first2"}, 401),
        ({"authorization": "Basic first"}, 401),
        ({"authorization": "Bearer \xe4"}, 401),
    ],
)
def test_only_the_token_opens(token_file: Path, header: dict[str, str], status: int) -> None:
    for settings in (Settings(token_file=token_file), Settings(token="first")):
        reply = send(app_with(settings), "POST", "/scoring", body=b'{"data":[]}', headers=header)
        assert reply.status == status
        assert ("www-authenticate" in reply.headers) == (status == 401)


def test_the_token_is_checked_before_the_body() -> None:
    assert send(app_with(Settings(token="t")), "POST", "/scoring", body=b"no JSON").status == 401


def test_a_rotated_token_counts_at_once(token_file: Path) -> None:
    app = app_with(Settings(token_file=token_file))
    assert ask(app, token="first").status == 200
    token_file.write_text("first\nsecond\n")
    assert [ask(app, token=token).status for token in ("first", "second")] == [200, 200]
    token_file.write_text("second")
    assert [ask(app, token=token).status for token in ("first", "second")] == [401, 200]


@pytest.mark.parametrize("content", [None, "", "\n \n", "x" * 70_000])
def test_an_unusable_token_file_closes_and_shows_in_health(
    token_file: Path, content: str | None
) -> None:
    app = app_with(Settings(token_file=token_file))
    assert send(app, "GET", "/healthz").status == 200
    if content is None:
        token_file.unlink()
    else:
        token_file.write_text(content)
    assert ask(app, token="first").status == 503
    assert ask(app, token="").status == 503
    health = send(app, "GET", "/healthz")
    assert health.status == 503
    assert "token file" in health.error
    assert str(token_file) not in health.error, "paths are nobody's business"


def test_a_byte_order_mark_is_no_part_of_a_token(token_file: Path) -> None:
    token_file.write_bytes(b"\xef\xbb\xbffirst\r\nsecond\r\n")
    app = app_with(Settings(token_file=token_file))
    assert [ask(app, token=token).status for token in ("first", "second", "third")] == [
        200,
        200,
        401,
    ]
    settings = Settings.from_environment({"SCORER_TOKEN": "\ufefffirst\r\n"})
    assert ask(app_with(settings), token="first").status == 200


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s3cret-1\ns3cret-2", "SCORER_TOKEN has more than one line"),
        ("s3cret-\u00e9", "SCORER_TOKEN has a character that is not allowed in an HTTP header"),
    ],
)
def test_a_token_that_no_caller_can_send_stops_the_start(text: str, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Settings.from_environment({"SCORER_TOKEN": text})
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_token_file_in_another_encoding_closes_and_says_so(token_file: Path) -> None:
    token_file.write_bytes("first".encode("utf-16"))
    health = send(app_with(Settings(token_file=token_file)), "GET", "/healthz")
    assert (health.status, "is UTF-16 text" in health.error) == (503, True)


def test_every_setting_has_a_variable() -> None:
    settings = Settings.from_environment(
        {
            "SCORER_TOKEN": "t",
            "SCORER_MAX_BODY_BYTES": "10",
            "SCORER_MAX_SERIES": "11",
            "SCORER_MAX_CONCURRENT": "12",
            "SCORER_MAX_WAITING": "0",
            "SCORER_TIMEOUT_SECONDS": "1.5",
            "SCORER_READ_TIMEOUT_SECONDS": "2",
        }
    )
    assert settings == Settings(
        token="t",
        max_body_bytes=10,
        max_series=11,
        max_concurrent=12,
        max_waiting=0,
        timeout_seconds=1.5,
        read_timeout_seconds=2,
    )
    assert Settings.from_environment({"SCORER_MAX_SERIES": " "}) == Settings()


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (
            {"SCORER_MAX_BODY_BYTES": "64Mi"},
            "SCORER_MAX_BODY_BYTES is '64Mi'; write a whole number",
        ),
        ({"SCORER_MAX_SERIES": "1.5"}, "write a whole number"),
        ({"SCORER_TIMEOUT_SECONDS": "nan"}, "SCORER_TIMEOUT_SECONDS is nan"),
        ({"SCORER_TIMEOUT_SECONDS": "inf"}, "SCORER_TIMEOUT_SECONDS is inf"),
        ({"SCORER_MAX_CONCURRENT": "0"}, "SCORER_MAX_CONCURRENT is 0; it must be a number above 0"),
        ({"SCORER_MAX_WAITING": "-1"}, "SCORER_MAX_WAITING is -1; it must be a number not below 0"),
        (
            {"SCORER_TOKEN": "a", "SCORER_TOKEN_FILE": "/b"},
            "keep one of SCORER_TOKEN_FILE and SCORER_TOKEN",
        ),
    ],
)
def test_settings_that_make_no_sense_stop_the_start(environment: dict[str, str], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Settings.from_environment(environment)
    assert text in str(caught.value)


def test_a_token_is_not_shown() -> None:
    assert "hunter2" not in repr(Settings(token="hunter2"))
