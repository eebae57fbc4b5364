"""Authentication. It checks the host that a request names, the site that it comes from, and its caller."""
