"""Blobs by their hash, the archive, and the connection to Temporal.

* ``blobs``: content-addressed files behind fsspec: checkpoints of simulations, large payloads
* ``sealing``: encryption of texts in Temporal that only this deployment may read
* ``temporal``: the Temporal client, with typed payloads; large ones are stored as blobs
* ``fleet``: the workers at a task queue, and whether their settings agree
"""
