"""Reading English in scenarios, offline and in bounded time: times, facts, patterns.

* ``patterns``: regular expressions that can't hang
* ``moments``: days and times that a text names
* ``text_tests``: conditions on a text, as scenarios declare them
* ``facts``: what a text says, and how sure that is
"""
