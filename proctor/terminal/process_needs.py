"""Decide whether a task's tests need the agent's own container, for its processes or for state besides files."""

import re

from proctor.terminal.agent_changes import TaskTexts
from proctor.terminal.task_model import TerminalTask

_LOOKS_FOR = re.compile(
    r"localhost|\b127\.\d|\b0\.0\.0\.0\b|\[::1\]|\bsocket\b|\bconnect\(|/proc/|\.pid\b|\bos\.kill\b|\.sock\b"
    r"|\b(?:psutil|pgrep|pidof|pkill|killall|lsof|netstat|fuser|nohup|tmux|screen|systemctl|supervisorctl|crontab|jobs"
    r"|daemon|nc|telnet|ssh|sshd|paramiko|redis|psycopg2?|pymysql|mysql|mongo\w*|grpc|websockets?|kafka|smtplib|ftplib)\b"
    r"|\bps\s+-?[a-z]|[\"']ps[\"']|\bss\s+-|[\"']ss[\"']|\bservice\s+\w+\s+\w+|\bsleep\s*\(?\s*\d|process_iter"
    r"|\b(?:requests|httpx)\.\w+\(|\burlopen\b|https?://(?!astral\.sh|pypi|files\.pythonhosted|github\.com)[\w.-]+:\d"
)
"""Patterns of tests that look for a process, a port, or an event while they wait."""

_STATE = re.compile(
    r"/dev/shm|/etc/(?:hosts|hostname|resolv\.conf)\b|/proc/(?:sys|mounts|net)\b|/sys/class/net"
    r"|\b(?:iptables|nft|sysctl|findmnt|mountpoint|swapon|gethostname)\b"
    r"|\bip\s+(?:addr|route|link|rule)\s+(?:show|list|ls|add|get)\b"
)
"""Patterns of tests that look for memory, mounts and networks of a container; an engine copies none of these."""


def state_need(task: TerminalTask, texts: TaskTexts) -> str | None:
    """Return the reason why the tests need state that only the agent's container has; None if they don't.

    Processes don't count as state here (``process_need``).
    """
    return None if task.needs_processes is False else _line_matching(_STATE, texts)


def process_need(task: TerminalTask, texts: TaskTexts) -> str | None:
    """Return the reason why the tests need the agent's processes; None if they don't.

    The task's own setting decides (``needs_processes``). Without it, the texts of the tests are searched.
    """
    if task.run_tests_in_same_shell:
        return "the tests are typed into the agent's shell"
    if task.needs_processes is not None:
        return "the task says so (needs_processes)" if task.needs_processes else None
    return _line_matching(_LOOKS_FOR, texts)


def _line_matching(pattern: re.Pattern[str], texts: TaskTexts) -> str | None:
    for line in texts.tests.splitlines():
        if not line.lstrip().startswith("#") and (match := pattern.search(line)) is not None:
            return f'the tests look for "{match[0]}": {line.strip()[:160]}'
    return None
