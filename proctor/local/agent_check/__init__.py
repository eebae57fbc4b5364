"""``proctor check-agent``: a miniature assessment that shows an agent's strengths and faults.

* ``day.json``: the scenario: a user, two mails, two turns
* ``watch``: records the agent's requests to the simulator, and can delay them
* ``playing``: plays the assessment, and records the evidence
* ``checks``: the checks of the evidence; ``checks.toml``: each check's fix
* ``command``: the command, and its table
"""
