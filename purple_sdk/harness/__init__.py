"""CLI agents, such as Claude Code, as participants. ``clis`` declares them; ``agent`` plays turns with one."""
