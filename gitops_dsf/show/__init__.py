"""Words for people: what becomes text, a table, Markdown or a page is written here.

`views` and the stages return values; the modules of this package turn them into text, and `cli`
prints it. So whoever edits the English of a report opens this package. Nothing here reads a file,
asks a hub or decides anything, and no module here changes an object that it is given. A sentence
that JSON output has, too, is a `Worded` value of `views`; the modules `document` here write it.

What is *not* here are texts that stand where they are judged or stored:

    findings                of rules (`resolve.rules`), of checks (`views.doctor`) and of tests
                            (`scoretests`): a condition, its message and its hint change together
    errors, and why a step  stand where they are raised: in the stages, and in `sync`, `importer`,
    was not taken           `installation`, `forge` and `ci`
    help                    stands beside the flags, in `cli.verbs`
    reasons that are        what the reconciler writes to the hub and to git, in `hub`, `pacing`,
    stored                  `multikueue` and `journal`; `status` and `log` repeat it word for word
    explanations            what OCM says in conditions, and why it chooses a cluster, in
                            `simulator`; several outputs and findings have these sentences
    causes                  short ones for which a value is not known, in `resolve.next_score` and
                            `views.preview.nextscores`, and advice, in `backtest` and
                            `fleetbacktest`: fields of JSON output

`tests/contract/test_words_in_one_room.py` fails for a sentence in another module of `views`.
"""
