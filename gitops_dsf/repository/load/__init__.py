"""Loads files as documents: plain data that knows its position."""

from gitops_dsf.repository.load.document import AmbiguousValue, Document, Path, texts_in, value_at
from gitops_dsf.repository.load.names import SETTINGS_FILE
from gitops_dsf.repository.load.repository import Known, Loaded, load, load_text

__all__ = [
    "SETTINGS_FILE",
    "AmbiguousValue",
    "Document",
    "Known",
    "Loaded",
    "Path",
    "load",
    "load_text",
    "texts_in",
    "value_at",
]
