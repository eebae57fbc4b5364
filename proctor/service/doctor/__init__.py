"""``proctor doctor``: looks at every part of a deployment and says of each what to mend.

* ``findings``: the findings on a part, and the time that each look may take
* ``environment``: certificates and proxies
* ``temporal``: Temporal, its namespace, who works there
* ``places``: stores, disks, clocks
* ``services``: simulator, gateway, collector of traces
* ``models``: models' keys, and participants
* ``command``: all of it, as a table
"""
