"""Services: workers, what the gateway's pages can start, the supervisor, the doctor."""
