"""Whether a task's tests need the processes that the agent left running."""

import re

from activities.terminal.agent_changes import TaskTexts
from activities.terminal.task_model import TerminalTask

_LOOKS_FOR = re.compile(
    r"localhost|\b127\.\d|\b0\.0\.0\.0\b|\[::1\]|\bsocket\b|\bconnect\(|/proc/|\.pid\b|\bos\.kill\b|\.sock\b"
    r"|\b(?:psutil|pgrep|pidof|pkill|killall|lsof|netstat|fuser|nohup|tmux|screen|systemctl|supervisorctl|crontab|jobs"
    r"|daemon|nc|telnet|ssh|sshd|paramiko|redis|psycopg2?|pymysql|mysql|mongo\w*|grpc|websockets?|kafka|smtplib|ftplib)\b"
    r"|\bps\s+-?[a-z]|[\"']ps[\"']|\bss\s+-|[\"']ss[\"']|\bservice\s+\w+\s+\w+|\bsleep\s*\(?\s*\d|process_iter"
    r"|\b(?:requests|httpx)\.\w+\(|\burlopen\b|https?://(?!astral\.sh|pypi|files\.pythonhosted|github\.com)[\w.-]+:\d"
)
"""What tests write that look for a process, a port, or something that happens while they wait."""


def process_need(task: TerminalTask, texts: TaskTexts) -> str | None:
    """Why the tests need the agent's processes; None where they don't.

    The task's own word counts (``needs_processes``). Without it, the texts of the tests are searched.
    """
    if task.run_tests_in_same_shell:
        return "the tests are typed into the agent's shell"
    if task.needs_processes is not None:
        return "the task says so (needs_processes)" if task.needs_processes else None
    for line in texts.tests.splitlines():
        if not line.lstrip().startswith("#") and (found := _LOOKS_FOR.search(line)) is not None:
            return f'the tests look for "{found[0]}": {line.strip()[:160]}'
    return None
