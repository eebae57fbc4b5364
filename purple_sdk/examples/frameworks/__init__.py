"""Agents on third-party frameworks, in ten lines each, over MCP; README.md lists the requirements of each."""
