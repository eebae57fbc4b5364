"""Authentication: which names the gateway answers to, which pages may ask it, and who its callers are.

* ``hosts``: the ``Host`` and ``Origin`` of a request
* ``tokens``: the bearer tokens of this deployment
* ``oidc``: tokens of an identity provider
* ``identity``: from a request's token to its caller
* ``login``: a browser's way in, from a token to a cookie
* ``middleware``: all of it, request by request, and the middleware and routes of an application
* ``quotas``: how much a caller may have
"""
