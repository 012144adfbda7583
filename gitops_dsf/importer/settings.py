"""The text of gitops-dsf.yaml with settings that a hub decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.repository.yamledit import YamlFile, mirror

KIND: Final = "FleetRepository"


@dataclass(frozen=True, kw_only=True)
class AdaptedSettings:
    """The settings with what was found on a hub, and what to tell people."""

    text: str
    """The text of gitops-dsf.yaml; the same as before if nothing changes."""
    changed: tuple[str, ...] = ()
    """A line for each change, with its reason."""
    told: tuple[str, ...] = ()
    """What else is there, and who owns it."""


class SettingsFile:
    """The FleetRepository of this name in gitops-dsf.yaml."""

    def __init__(self, text: str, *, name: str) -> None:
        self._file = YamlFile(text)
        document = self._file.find(KIND, name)
        spec = None if document is None else document.get("spec")
        self._spec: Any = spec if isinstance(spec, Mapping) else None

    def section(self, field: str) -> dict[str, Any] | None:
        """A copy of a mapping of the spec, empty if nobody wrote it.

        None if the file has something else there. What reads the whole repository says so.
        """
        if self._spec is None:
            return None
        section = self._spec.get(field)
        if section is None:
            return {}
        return dict(section) if isinstance(section, Mapping) else None

    def with_section(self, field: str, section: Mapping[str, Any]) -> str:
        """The text with a mapping of the spec. Comments, order and quotes stay."""
        # mirror edits the document while its changes are consumed.
        list(mirror(self._spec, {**self._spec, field: section}))
        return self._file.text


def name_of_settings(document: Mapping[str, Any]) -> str | None:
    """The name of a FleetRepository; None for another document."""
    if document.get("kind") != KIND:
        return None
    metadata = document.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else None
