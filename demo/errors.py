"""Exceptions that end a demo early."""

from gitops_dsf.errors import GitopsDsfError


class DemoError(GitopsDsfError):
    """Something that the demo needs is missing or did not happen. The message says what, and where to find
    details.
    """


class StoppedError(Exception):
    """A signal ended the demo. ``number`` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
