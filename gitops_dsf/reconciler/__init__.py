"""What git cannot know, observed on the hub, made safe, and brought back to git.

`run` leads and starts the duties (`duty.Duty`); every duty has a room of its own and shares with the others
only the view of the hub (`hub.view.HubView`), the API client and the metrics:

    hub/         writes under the Lease, informers, and what is kept of each kind
    events       what was seen and done, as Kubernetes Events
    freshness/   which scores are where they should be, and which Placements miss one
    scorers/     health, /config and freshness of every DynamicScorer, in its status
    suspension/  agents do not call a scoring API that is down
    scoregc/     deletes expired scores that no agent will renew
    moves/       Argo CD looks at a decision when it changed; the old copy goes when the new one is healthy
    git/         the git program; credentials that nobody else sees
    forge/       pull requests
    proposals/   locks that drifted and clusters that joined, left or changed, as commits for people to merge
"""
