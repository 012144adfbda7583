"""Records of the journal."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from gitops_dsf.journal.record import Record, new_record

AT = datetime(2026, 6, 1, 3, 12, 7, 123456, tzinfo=UTC)


def record(
    number: int = 1,
    before: str = "eu-1",
    after: str = "eu-2",
    *,
    at: datetime = AT,
    placement: str = "argocd/portal",
    **more: Any,
) -> Record:
    """A change from one cluster to another."""
    plain = new_record(
        placement=placement, number=number, time=at, kind="Change", before={before}, after={after}
    )
    return msgspec.structs.replace(plain, **more)
