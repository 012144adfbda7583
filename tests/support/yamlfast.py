"""YAML with libyaml, with the result of PyYAML's own parser and emitter.

It takes a tenth of their time.
"""

import pickle
from functools import lru_cache
from typing import Any

import yaml


def load(text: str | bytes) -> Any:
    """Reads the only document.

    What is returned is the caller's own. Most files that tests read are those of other tests, such
    as rendered CRDs, and to copy them takes a tenth of the time.
    """
    return pickle.loads(_packed(text))  # noqa: S301 - packed below


@lru_cache(maxsize=300)
def _packed(text: str | bytes) -> bytes:
    return pickle.dumps(yaml.load(text, Loader=yaml.CSafeLoader))


def dump(*documents: Any) -> str:
    """Writes documents; their keys keep their order.

    An object that occurs twice is written out twice.
    """
    text: str = yaml.dump_all(
        documents, Dumper=_WithoutAliases, sort_keys=False, explicit_start=True
    )
    return text


def load_all(text: str | bytes) -> list[Any]:
    """Reads all documents."""
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


class _WithoutAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML calls it so
        return True
