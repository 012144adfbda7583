"""What a hub was seen to hold, from files: `kubectl get -o yaml`, an agent's output folder, or a snapshot (docs/preview.md)."""

from gitops_dsf.snapshot.collect import collect
from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.fileformat import files
from gitops_dsf.snapshot.source import from_path, from_texts
from gitops_dsf.snapshot.values import Decision, PublishedScore, Snapshot, age_text

__all__ = ["Decision", "PublishedScore", "Snapshot", "SnapshotError", "age_text", "collect", "files", "from_path", "from_texts"]
