"""Authentication: the host names of the gateway, the origins that may send requests, and the callers."""
