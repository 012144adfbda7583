"""The program on the hub: it does and reports what git alone cannot know.

It observes scores, decisions and clusters, acts on them, and proposes changes to git. OCM alone
decides where applications run.

`run` waits for leadership (`hub.leadership`) and starts the controllers, each in the loop of
`loop`, and `restarts` starts again what ended by a bug. What they share is in `context`:

    settings      what gitops-dsf.yaml says, and what is known only where the process runs
    hub/          informers, what is kept of each kind, the Lease, and writes that need leadership
    events        Kubernetes Events
    metrics       all metrics of the process
    freshness     the clusters where scores are fresh, and scores that nothing renews (pure)
    scan          one look at all scores, and which Placements count clusters as 0
    scorers/      the status of every DynamicScorer: health, /config, freshness
    scoregc       deletes expired scores that no agent will renew
    refresh       asks Argo CD to look at changed decisions
    moves/        deletes old copies of moved applications
    pacing/       admits paced moves, and follows them to their end
    multikueue/   orders the clusters that Kueue offers to jobs
    maintenance   taints on clusters that are cordoned or drained
    board         the page of the fleet, from what the informers hold
    rawscores     the raw scores of all clusters, from a metric store
    statebranch   a snapshot of the hub on a branch, for previews
    journal/      each change of a decision, as a record on a branch
    git/          the git program and its credentials
    forge         sends requests to a forge
    proposals/    drifted locks and changed clusters, as commits for people to merge
"""
