"""Child processes, ports, addresses, HTTP clients and serving, as agents and the evaluator need them."""
