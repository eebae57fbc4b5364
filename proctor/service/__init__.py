"""Services: workers, the actions of the gateway's pages, the supervisor, the doctor."""
