"""The commands: one file for a command or a group, with flags and work. Heavy modules are imported in functions."""
