"""Child processes: the one way to start, watch and end them, for commands and activities alike.

* ``child``: a process that ends with all that it has started, and the command lines of our own Python
* ``guard``: ends the children of a process that was killed, and removes its temporary folder
* ``ports``: which ports are free, who has the others, and who may start a server at one
"""
