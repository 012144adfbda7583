"""A preview in words: for a terminal, and as the Markdown of a comment on a pull request.

`views.preview` computes a preview as a value; the modules here write it. A section of a preview is
a field of `Comparison` there, and a function here that yields its lines; `page` calls the functions
in the order in which people read them.

JSON output has the sentences of warnings and of reasons as well, so `document` asks the same
functions.
"""
