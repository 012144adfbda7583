"""Reads a hub, or files that hold the objects of one. Nothing is written.

    hub          requests to the API server of a hub, through a kubeconfig
    kubeconfig   credentials of people: exec plug-ins, auth providers, several files
    argocdplace  the namespace of Argo CD
    scorers      the scorers: the rendered list, and the DynamicScorers with their status
    scores       AddOnPlacementScores, reduced while their pages arrive
    snapshot     a snapshot of a hub, for `simulate`, `diff` and the state branch
    inputs       the objects for `status`
    facts        the objects for the checks of `doctor`
    inventory    the objects for `import`
    files        snapshots in files and in git
    parts        the parts that could be read

A part that may not be read becomes a value (`Unread`), so that a view can name it and show the
rest. Without the extra `live`, only `files` can be imported.
"""
