"""Child processes, ports, addresses, HTTP clients and serving.

* ``child``: a process that ends together with all its descendants, and command lines of this Python
* ``importing``: the set-up before a process's first import, so that it starts fast
* ``guard``: ends the children of a process that was killed, and removes its temporary folder
* ``serving``: a server that listens first, says when it is ready, and ends on request
* ``addresses``: this machine's addresses, and those that are closed to strangers
* ``http_clients``: the factory of all our HTTP clients
* ``environment``: checks of the process's environment: file names and proxies
* ``local_files``: files below a folder, reached without following links
* ``log_files``: output files that are opened again after a SIGHUP
* ``ports``: free ports, the owners of used ports, and claims on ports
* ``capabilities``: how a process gives up root's powers
* ``landlock``: which files and TCP ports a process may still reach
* ``namespaces``: which files and processes a process sees
* ``reaping``: ends all that a program has started, when the program or its parent ends
* ``system_calls``: which system calls a process may still make
* ``together``: runs awaitables side by side; the first failure ends all other awaitables
"""
