"""Why a metric store gave no answer. It needs no optional dependency."""

from gitops_dsf.errors import GitopsDsfError


class StoreError(GitopsDsfError):
    """The store gave no usable answer."""


class TooMuchError(StoreError):
    """The store gives no answer of this size: a smaller question may succeed."""
