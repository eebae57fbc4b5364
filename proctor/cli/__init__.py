"""The command line: commands, and displays and reports that they share."""
