"""The A2A server in front of Temporal. ``server`` has the application, ``handler`` the A2A methods."""
