"""The prose linter of `make prose`: plain English in documents and in the strings of the code that people read."""
