"""metadata, as much of it as anybody here needs."""

import msgspec


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """metadata of any object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
