"""Places where gitops-dsf is published: the only module with names of a forge and a registry.

Both are None as long as no release exists (docs/contributing/releasing.md says what changes then).
"""

from typing import Final

from dsf_wire import __version__

REPOSITORY: Final[str | None] = None
"""URL of the source and its issues, such as https://forge.example.com/team/gitops-dsf."""
REGISTRY: Final[str | None] = None
"""The registry of the images, such as registry.example.com/team."""


def image(program: str, *, registry: str | None = REGISTRY) -> str:
    """The image of a program in this version."""
    name = f"gitops-dsf-{program}:{__version__}"
    return f"{registry}/{name}" if registry else name
