"""Reads a hub, or files that hold what one had. Nothing is written.

    hub         requests to the API server of a hub, through a kubeconfig
    kubeconfig  credentials of people: exec plug-ins, auth providers, several files
    scores      AddOnPlacementScores, reduced while their pages arrive
    snapshot    a snapshot of a hub, for `simulate`, `diff` and the state branch
    inputs      what `status` shows
    facts       what the checks of `doctor` judge
    inventory   what `import` takes
    files       snapshots in files and in git

A part that may not be read becomes a value (`Unread`), so that a view can name it and show the
rest. Without the extra `live`, only `files` can be imported.
"""
