"""The inputs that Argo CD accepts and the states that it reports, recorded from the pinned version.

`fields` knows the fields of its ApplicationSets, `gotemplate` and `fasttemplate` their templates,
`writeback` the fields that its controllers write back, `steering` the labels and annotations that
change its behaviour, and `failures` reads why an Application failed.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def api() -> dict[str, Any]:
    """The facts about the pinned Argo CD and OCM, from `api.json`.

    `python -m tools.argocd_api` writes that file from their Go types.
    """
    path = Path(__file__).parent / "api.json"
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts
