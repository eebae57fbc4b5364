"""Agents on frameworks that others made, in ten lines each, over MCP; see README.md for what each needs."""
