"""Child processes, ports, addresses, HTTP clients and serving.

* ``child``: a process that ends with all that it has started, and the command lines of our own Python
* ``importing``: the set-up before a process's first import, so that it starts fast
* ``guard``: ends the children of a process that was killed, and removes its temporary folder
* ``serving``: a server that listens first, says when it is ready, and ends on request
* ``addresses``: this machine's addresses, and those that are forbidden to strangers
* ``http_clients``: the factory of all our HTTP clients
* ``environment``: what the environment says of names and proxies
* ``local_files``: files below a folder, reached through no link
* ``log_files``: output files that are opened again after a SIGHUP
* ``ports``: which ports are free, who has the others, and who may start a server at one
* ``capabilities``: how a process gives up root's powers
* ``landlock``: which files and TCP ports a process may still reach
* ``namespaces``: which files and processes a process sees
* ``reaping``: ends all that a program has started, when it or its parent ends
* ``system_calls``: which system calls a process may still make
* ``together``: works side by side, of which the first failure ends the others
"""
