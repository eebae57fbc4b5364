"""Blobs by their hash, the archive, and the connection to Temporal.

* ``blobs``: content-addressed files behind fsspec: checkpoints of simulations, large payloads
* ``sealing``: what only this deployment may read of what Temporal keeps
* ``temporal``: the Temporal client, with typed payloads of which large ones travel as references
* ``fleet``: who works at a task queue, and whether they fit together
"""
