"""Parts of an evaluator in this process or on this machine: rehearsals, checks, audits, one machine's services."""
