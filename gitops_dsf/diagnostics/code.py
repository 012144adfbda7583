"""A kind of finding: its id, its severity, and its explanation for users.

The page docs/reference/diagnostics.md, `gitops-dsf explain DSF310` and the help of SARIF logs are
made of codes. A test runs every bad example, which must give the finding, and every good one.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Edit, Position, Severity

_INDENTATION: Final = "\n" + " " * 8
"""The indentation of each line of a text, in the modules that list the codes."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class FindingCode:
    """One kind of finding.

    A code never gets a second meaning. The texts are written indented by eight columns, and kept
    without that.
    """

    id: str
    severity: Severity
    """The severity by default. A single finding can have another one."""
    title: str
    """The mistake in a few words, without a verb."""
    explanation: str = field(kw_only=True, repr=False)
    """The mistake, the behaviour of OCM, Argo CD or the agent, and the text to write instead.

    Markdown. Links begin at the root of the repository.
    """
    bad: str = field(default="", kw_only=True, repr=False)
    """Files with the finding, each after a line `# PATH`.

    They are written over the base repository, tools/diagnostics_base.yaml: mappings are merged, and
    any other value replaces that of the base.
    """
    good: str = field(default="", kw_only=True, repr=False)
    """The same without the finding."""
    unshown: str = field(default="", kw_only=True, repr=False)
    """The reason why there are no examples."""

    def __post_init__(self) -> None:
        for name in ("explanation", "bad", "good"):
            text = getattr(self, name).replace(_INDENTATION, "\n").strip()
            object.__setattr__(self, name, text)

    def at(
        self,
        position: Position,
        message: str,
        hint: str = "",
        *,
        severity: Severity | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> Diagnostic:
        """Makes a finding of this kind.

        The hint says what to write instead. The edits do it, where nothing is left to decide.
        """
        return Diagnostic(
            code=self.id,
            severity=severity or self.severity,
            message=message,
            position=position,
            hint=hint,
            edits=edits,
        )

    @property
    def anchor(self) -> str:
        """The anchor of its section in docs/reference/diagnostics.md."""
        words = re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")
        return f"{self.id.lower()}-{words}"

    @property
    def plain_explanation(self) -> str:
        """The explanation for a terminal: a line for each paragraph or item of a list, no links."""
        paragraphs = []
        for paragraph in _LINK.sub(r"\1", self.explanation).split("\n\n"):
            is_list = paragraph.startswith("- ")
            paragraphs.append(paragraph if is_list else paragraph.replace("\n", " "))
        return "\n\n".join(paragraphs)

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """The headings and texts of the examples, if there are any."""
        if not self.bad:
            return ()
        return (("With this finding", self.bad), ("Without it", self.good))
