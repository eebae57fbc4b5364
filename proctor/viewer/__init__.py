"""Web pages for the archive and for running work.

Pages load nothing from other sites. Text from others can't run in them: templates escape everything, and the content
security policy allows only our scripts.

* ``app``: the routes, and their HTTP headers
* ``pages``: from an archive's entry to HTML, for the server and as one self-contained file
* ``actions``: the actions that a page offers, and which requests may use them
* ``live``: the running work, in the form that pages need; ``progress``: its updates so far
* ``versions``: the items of mailbox, messages, chat and calendar, with the turns in which each version existed
* ``modalities``: the same items in threads, conversations and days
* ``bounds``: the limit on the items of a page
* ``scores``: the score as a table, with verdicts, quotes and links
* ``campaigns``: a campaign's tables and plots; ``plots``: SVG
* ``trials``: an agent's actions in a terminal
* ``words``: actions, times and sizes in few words

``static`` has asciinema-player 3.17.0 (npm, Apache-2.0, ``asciinema-player.LICENSE``), unchanged: it plays recordings.
"""
