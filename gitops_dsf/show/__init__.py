"""Words for people: everything that becomes text, a table, Markdown or a page is written here.

`views` and the stages return values; the modules of this package turn them into text, and `cli`
prints it. So whoever edits the English of a program opens this package. Nothing here reads a file,
asks a hub or decides anything, and no module here changes an object that it is given.

What is *not* here: messages of findings and errors, which stand where they are raised, and
`--help`.
"""
