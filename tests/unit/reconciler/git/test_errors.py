"""What git says, told apart."""

import pytest

from gitops_dsf.reconciler.git.errors import Cause, cause_of, summary


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("fatal: Authentication failed for 'https://git.example.com/fleet.git/'", Cause.DENIED),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", Cause.DENIED),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 403", Cause.DENIED),
        (
            "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            Cause.DENIED,
        ),
        ("Host key verification failed.", Cause.DENIED),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", Cause.UNREACHABLE),
        (
            "fatal: unable to access 'http://x/': Failed to connect to x port 80: Connection refused",
            Cause.UNREACHABLE,
        ),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 502", Cause.UNREACHABLE),
        ("error: RPC failed; HTTP 429", Cause.UNREACHABLE),
        ("fatal: repository 'http://x/none.git/' not found", Cause.MISSING),
        ("fatal: couldn't find remote ref refs/heads/none", Cause.MISSING),
        ("!\tabc:refs/heads/a\t[rejected] (stale info)\nerror: failed to push some refs", Cause.REJECTED),
        ("!\tabc:refs/heads/a\t[remote rejected] (pre-receive hook declined)", Cause.REJECTED),
        ("fatal: bad object", Cause.FAILED),
    ],
)
def test_causes(said: str, cause: Cause) -> None:
    assert cause_of(said) is cause


def test_a_message_is_one_line() -> None:
    assert summary("remote: no\nfatal: it failed\x07\nhint: try again\n\n") == "no; it failed\\x07"
    assert len(summary("x" * 1000)) == 400
