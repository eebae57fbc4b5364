"""The commands, a file each or for a group: flags and work. What is heavy is imported when a command runs."""
