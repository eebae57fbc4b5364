"""Shared code of scenarios' evaluators and builders: readers of mail, texts, chat and calendar, times, files to write.

An evaluator imports its functions from here (``from proctor.scenarios.kit.messages import messages_sent``). Admission
freezes the imported modules with the scenario's own files (``proctor.activities.scenario_code.freezing``). A later
judgement therefore uses the kit of that day. The kit imports nothing of ours but ``proctor.protocol``.
"""
