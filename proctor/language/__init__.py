"""Read English texts in scenarios, offline and in bounded time: times, facts, patterns.

* ``patterns``: regular expressions that can't hang
* ``reader``: the values that a text names, how they are meant, and who says them
* ``moments``: version 1 of the reader for days and times, for stored scenarios
* ``text_tests``: conditions on a text, as scenarios declare them
* ``facts``: statements that a text may make, and how certain it is that it makes them
"""
