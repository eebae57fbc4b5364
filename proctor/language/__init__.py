"""Reading English in scenarios, offline and in bounded time: times, facts, patterns.

* ``patterns``: regular expressions that can't hang
* ``reader``: the values that a text names, how they are meant, and by whom they are said
* ``moments``: days and times that a text names, as version 1 of the reader read them, for stored scenarios
* ``text_tests``: conditions on a text, as scenarios declare them
* ``facts``: what a text says, and how sure that is
"""
