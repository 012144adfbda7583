"""The command line: one module per verb, imported when it is the one that was asked for."""
