"""Settings, read from the environment and the command line."""
