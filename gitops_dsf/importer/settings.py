"""The text of gitops-dsf.yaml with settings that a hub decides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.repository.yamledit import YamlFile, mirror

KIND: Final = "FleetRepository"


@dataclass(frozen=True, kw_only=True)
class AdaptedSettings:
    """The settings of a hub, as lines for people."""

    changed: tuple[str, ...] = ()
    """A line for each change of the settings, with its reason."""
    notes: tuple[str, ...] = ()
    """Other settings that are there, and their owners."""


class SettingsFile:
    """The FleetRepository of this name in gitops-dsf.yaml."""

    def __init__(self, text: str, *, name: str) -> None:
        self._file = YamlFile(text)
        document = self._file.find(KIND, name)
        spec = None if document is None else document.get("spec")
        self._spec: Any = spec if isinstance(spec, Mapping) else None

    @property
    def text(self) -> str:
        """The text of the file; the same as before if no section was replaced."""
        return self._file.text

    def section(self, field: str) -> dict[str, Any] | None:
        """A copy of a mapping of the spec, empty if it is not written.

        It is None if the file has something else there. Readers of the whole repository report
        that.
        """
        if self._spec is None:
            return None
        section = self._spec.get(field)
        if section is None:
            return {}
        return dict(section) if isinstance(section, Mapping) else None

    def extend(self, field: str, entries: Iterable[Any]) -> bool:
        """Appends to a list of the spec, even if it is not written.

        Returns False if the file has something else there, or holds aliases, which cannot be
        edited.
        """
        if self._spec is None:
            return False
        present = self._spec.get(field)
        if not isinstance(present, list | None):
            return False
        list(mirror(self._spec, {**self._spec, field: [*(present or ()), *entries]}))
        return True

    def replace_section(self, field: str, section: Mapping[str, Any]) -> None:
        """Writes a mapping of the spec. Comments, order and quotes stay."""
        # mirror edits the document while its changes are consumed.
        list(mirror(self._spec, {**self._spec, field: section}))


def name_of_settings(document: Mapping[str, Any]) -> str | None:
    """The name of a FleetRepository; None for another document."""
    if document.get("kind") != KIND:
        return None
    metadata = document.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else None
