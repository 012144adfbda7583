"""One self-contained HTML page for everything that people look at. It loads nothing."""
