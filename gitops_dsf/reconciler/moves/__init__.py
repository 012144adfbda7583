"""Make before break: deletes the old copy of a moved application when the new copy is healthy
(docs/operate/reconciler.md#make-before-break).

rules         which copy may be deleted now, and what the others wait for (pure)
reachability  which clusters are unreachable, and which have just returned
deletion      reads everything about one copy again, and deletes it
controller    the control loop, with metrics, log and Events about copies that wait
"""
