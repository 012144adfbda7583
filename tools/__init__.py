"""Developer tools, for example to update generated files. They are in no wheel."""
