"""HTML pages that people open as a file, and the kit that makes them.

`kit` renders a template of `templates/` into one self-contained file. Each other module turns the
values of a verb into the content of one template, or of one part of it: `fleet` is a page, and
`fleetapplications`, `fleetscorers`, `heatmap` and `timeline` are parts of it. A page is built from
values, never from the text of a terminal.
"""
