"""``python -m proctor``."""

from proctor.main import main

main()
