"""``proctor check-agent``: a miniature assessment that shows what an agent does right and wrong.

* ``day.json``: the scenario: a user, two mails, two turns
* ``watch``: sees what the agent asks of the simulator, and can make it wait
* ``playing``: plays the assessment, and keeps all that was seen
* ``checks``: what is looked for in it; ``checks.toml``: each one's fix
* ``command``: the command, and its table
"""
