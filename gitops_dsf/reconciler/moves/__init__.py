"""Make before break: deletes the old copy of a moved application when the new copy is healthy
(docs/operate/reconciler.md#make-before-break).
"""
