"""What a person does in the Temporal UI, done by a headless browser."""
