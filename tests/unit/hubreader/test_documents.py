"""Files with objects of a hub."""

import pytest

from gitops_dsf.hub.snapshot import SnapshotError
from gitops_dsf.hubreader.files import documents


@pytest.mark.parametrize(
    "content",
    [
        b"kind: ManagedCluster\nname: \xf5\n",
        b'{"kind": "ManagedCluster", "name": "\xf5"}',
        b'{"kind": "List", "items": [{"kind": "ManagedCluster", "\xf5": 1}]}',
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_its_byte(content: bytes) -> None:
    byte = content.index(b"\xf5")
    with pytest.raises(SnapshotError, match=rf"hub is not UTF-8 \(byte {byte}\)"):
        list(documents(content, file="hub"))
