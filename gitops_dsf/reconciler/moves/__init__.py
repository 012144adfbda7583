"""Make before break (docs/operate/reconciler.md#make-before-break)."""
