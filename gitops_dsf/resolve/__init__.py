"""Cross-object meaning: effective scorers, targets and applications, with every rule checked. Pure."""
