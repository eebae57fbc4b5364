"""The command line: commands, and their displays and reports."""
