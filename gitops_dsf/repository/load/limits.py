"""How much is read at most. Checked before any parser sees text: C parsers crash the process on tens of
thousands of brackets.
"""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Bounds far above honest repositories: 2,000 clusters with claims in one file are about 2 MiB."""

    file_bytes: int = 8 * MEBIBYTE
    """Bytes of one file."""
    total_bytes: int = 128 * MEBIBYTE
    """Bytes of all files together."""
    depth: int = 64
    """Levels of mappings and lists inside each other, aliases expanded."""
    expanded_nodes: int = 100_000
    """Values of one document that uses aliases, aliases expanded."""
    alias_nodes: int = 200_000
    """Values that the aliases of all documents of a run add together, beyond what is written."""
    syntax_errors_per_file: int = 20
    """Broken documents that are reported of one file; a file of noise would bury every other finding."""


@dataclass(slots=True)
class AliasBudget:
    """What is left of ReadLimits.alias_nodes in one run. Documents that fit alone must not exhaust memory
    together.
    """

    left: int

    def spend(self, nodes: int) -> bool:
        """Whether so many values may still be added; counts them if so."""
        if nodes > self.left:
            return False
        self.left -= nodes
        return True


DEFAULT_LIMITS = ReadLimits()
