"""The models of messages, results and tasks that evaluator and participants exchange."""
