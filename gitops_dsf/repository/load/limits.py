"""Limits of what is read. They are checked before any parser sees text, because C parsers crash on tens of
thousands of brackets.
"""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Limits far above real repositories: 2,000 clusters with claims in one file have about 2 MiB."""

    file_bytes: int = 8 * MEBIBYTE
    """Bytes of one file."""
    total_bytes: int = 128 * MEBIBYTE
    """Bytes of all files together."""
    depth: int = 64
    """Levels of nested mappings and lists."""
    syntax_errors_per_file: int = 20
    """Malformed documents that are reported per file, so that a binary file does not hide other findings."""


DEFAULT_LIMITS = ReadLimits()
