"""Comments of previews as pictures: rendered as GitHub and GitLab show them, in headless Chromium.

    cases    previews of each kind of change, as Markdown that is the same on every machine
    pages    Markdown in the look of a forge, as a page of HTML
    browser  pictures of pages, taken in a browser
    docs     the picture of the demo's comment in docs, and the digest that it carries

`make screenshots` takes the one of docs, and `CASES=all` all others. The golden previews are the
same cases.
"""
