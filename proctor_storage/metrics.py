"""What stores count."""

from prometheus_client import Counter, Histogram

STORE_SECONDS = Histogram(
    "proctor_store_seconds",
    "How long the store, and the archive, take to read or write.",
    ["operation"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
STORE_FAILURES = Counter("proctor_store_failures", "Times that the store could not be read or written.", ["operation"])
for _operation in ("read", "write"):  # an alert on their increase takes a value from before the first failure
    STORE_FAILURES.labels(_operation)
