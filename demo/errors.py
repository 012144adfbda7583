"""How a demo ends before its time."""

from gitops_dsf.errors import GitopsDsfError


class DemoError(GitopsDsfError):
    """Something that the demo needs is missing or did not happen; the message says what, and where
    to look.
    """


class StoppedError(Exception):
    """A signal asked the demo to end. ``number`` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
