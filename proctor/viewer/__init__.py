"""Web pages over the archive and over what runs.

Pages load nothing from other sites. Text that others wrote can't run in them: templates escape everything, and the
content security policy allows our scripts only.

* ``app``: the routes, and their HTTP headers
* ``pages``: from an archive's entry to HTML, for the server and as one self-contained file
* ``actions``: the actions that a page offers, and which requests may use them
* ``live``: the running work, as the pages ask for it; ``progress``: its updates so far
* ``versions``: the items of mailbox, messages, chat and calendar, from which turn to which
* ``modalities``: the same as a person reads it: threads, conversations, days
* ``bounds``: which of it is on a page
* ``scores``: the score as a table, with verdicts, quotes, and what they lead to
* ``campaigns``: a campaign's tables and plots; ``plots``: SVG
* ``trials``: what an agent did in a terminal
* ``words``: actions, times and sizes in few words

``static`` has asciinema-player 3.17.0 (npm, Apache-2.0, ``asciinema-player.LICENSE``), unchanged: it plays recordings.
"""
