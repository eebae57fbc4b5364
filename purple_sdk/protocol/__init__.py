"""Messages, results and tasks: what crosses the wire to and from participants."""
