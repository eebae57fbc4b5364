"""A model of fences, small enough that every interleaving of it can be looked at."""
