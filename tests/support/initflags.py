"""Flags of `init` that name what is a fleet's own, so that a new repository has no findings."""

from typing import Final

NAMED: Final = ("--registry", "registry.example.com", "--git-url", "https://git.internal/team/fleet.git")
