"""``proctor doctor``: checks every part of a deployment and lists the problems with their remedies.

* ``findings``: the findings on a part, and the time limit of each check
* ``environment``: certificates and proxies
* ``temporal``: Temporal, its namespace and workers
* ``places``: stores, disks, clocks
* ``services``: simulator, gateway, collector of traces
* ``models``: models' keys, and participants
* ``command``: all checks, and the table of their findings
"""
