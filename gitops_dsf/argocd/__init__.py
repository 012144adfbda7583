"""What Argo CD accepts: the fields of its ApplicationSets (`fields`), and their templates (`gotemplate`)."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def api() -> dict[str, Any]:
    """The facts about the pinned Argo CD and OCM in `api.json`, which `python -m tools.argocd_api` writes."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "api.json").read_text(encoding="utf-8"))
    return found
