"""The live commit: the commit of the fleet repository that Argo CD has applied."""

import msgspec


class _Sync(msgspec.Struct, frozen=True):
    status: str = ""
    revision: str = ""


class _Operation(msgspec.Struct, frozen=True, rename="camel"):
    sync_result: _Sync = _Sync()


class _DeployedStatus(msgspec.Struct, frozen=True, rename="camel"):
    sync: _Sync = _Sync()
    history: tuple[_Sync, ...] | None = None
    operation_state: _Operation | None = None


class Deployed(msgspec.Struct, frozen=True):
    """The commits that an Application has applied."""

    status: _DeployedStatus = _DeployedStatus()

    @property
    def commit(self) -> str:
        """Empty if there is none.

        A commit that changes no object is not synced, so it is not in the history.
        """
        sync = self.status.sync
        history = self.status.history or ()
        # Synced means that the objects are as in this commit, whether a sync was needed or not.
        if sync.status == "Synced" and sync.revision:
            return sync.revision
        return history[-1].revision if history else ""

    @property
    def applied(self) -> str:
        """The commit of the last sync, or of one that still runs.

        That is the one that changed an object which changed just now.

        Argo CD 3.4 writes `status.sync` and the history only after the sync
        (controller/appcontroller.go).
        """
        operation = self.status.operation_state
        return (operation.sync_result.revision if operation is not None else "") or self.commit
