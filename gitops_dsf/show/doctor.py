"""Findings of `doctor`, for a terminal."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from gitops_dsf.show.tables import wrapped
from gitops_dsf.views.doctor.finding import DoctorFinding, State
from gitops_dsf.wording import plural

_COLOURS: Final = {
    State.ERROR: "\033[31m",
    State.WARNING: "\033[33m",
    State.UNKNOWN: "\033[36m",
    State.OK: "\033[32m",
}
_END: Final = "\033[0m"


def findings_text(findings: Sequence[DoctorFinding], *, colour: bool) -> str:
    """Formats at least one finding, each with its fix, and a summary as the last line."""
    checks = {finding.check for finding in findings}
    check_width = max(map(len, checks))
    # The widest state has 7 characters, and two gaps of 2 columns follow.
    indent = check_width + 11
    lines: list[str] = []
    for finding in findings:
        state = _state_text(finding.state, colour=colour)
        message = wrapped(finding.message, indent=indent)
        lines.append(f"{state}  {finding.check:<{check_width}}  {message}")
        if finding.fix:
            # A fix is never wrapped, because people copy the command.
            lines.append(f"{'':<{indent}}fix: {finding.fix}")
    # A check can have several findings, one for each object that is wrong.
    return "\n".join(lines) + f"\n\n{_summary(findings, checks=len(checks))}\n"


def _state_text(state: State, *, colour: bool) -> str:
    # Padded before it is coloured: the codes of a colour take no column.
    return f"{_COLOURS[state]}{state:<7}{_END}" if colour else f"{state:<7}"


def _summary(findings: Sequence[DoctorFinding], *, checks: int) -> str:
    states = Counter(finding.state for finding in findings)
    errors = plural(states[State.ERROR], "error")
    warnings = plural(states[State.WARNING], "warning")
    return f"{plural(checks, 'check')}: {errors}, {warnings}, {states[State.UNKNOWN]} unknown"
