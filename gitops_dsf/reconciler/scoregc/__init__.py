"""Score garbage collection: deletes expired scores that no agent will renew.

See docs/operate/reconciler.md#score-garbage-collection.

An expired score still satisfies a predicate on its existence (`onMissingScore: Exclude`), and OCM does not
schedule again when a score expires. Deleting the score is an event that OCM reacts to.

candidates   which scores are dead: expired for more than a TTL, and nobody is left to renew them
controller   the control loop, with its metrics; reads everything about one score again, and deletes it
"""
