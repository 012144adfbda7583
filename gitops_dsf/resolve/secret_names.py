"""Recognises names of fields, headers and URL parameters that hold secrets."""

import re
from typing import Final

_ENDS_LIKE_A_SECRET: Final = re.compile(
    r"(?i)(^|[^a-z])(api[-_]?key|token|password|passwd|secret|bearer|private[-_]?key|access[-_]?key"
    r"|credentials?)$"
)


def names_a_secret(name: str) -> bool:
    """Whether a field of this name usually holds a secret, such as apiKey or access_token."""
    # A camelCase name is split, so that openaiApiKey ends in Api_Key, and monkey does not end in
    # key.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _ENDS_LIKE_A_SECRET.search(words) is not None
