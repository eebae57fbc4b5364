"""The pages, as a reader sees them."""
