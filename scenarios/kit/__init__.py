"""What scenarios' evaluators and builders share: readers of mail, texts, chat and calendar, times, and files to write.

An evaluator imports what it needs (``from proctor.scenarios.kit.messages import messages_sent``). What it imports from
here is frozen with the scenario's own files at admission, so judging again later reads by the kit of that day
(``proctor.activities.scenario_code.freezing``): it imports nothing of ours but ``proctor.protocol``.
"""
