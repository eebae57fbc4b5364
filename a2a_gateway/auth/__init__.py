"""Authentication: which names the gateway answers to, which pages may ask it, and who its callers are."""
