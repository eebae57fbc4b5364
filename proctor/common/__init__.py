"""Shared parts of proctor's packages: errors, the console, the settings of commands, interrupts."""
