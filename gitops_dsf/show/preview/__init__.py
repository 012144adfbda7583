"""A preview in words: for a terminal, and as the Markdown of a comment on a pull request.

`views.preview` computes a preview as a value; the modules here write it. A section of a preview is
a field of `Comparison` there, and a function here that yields its lines; `page` calls the functions
in the order in which people read them.

Not here: the warnings and the reasons of moves. They are sentences in the JSON output as well, so
they are written in `views.preview`, where they are found.
"""
