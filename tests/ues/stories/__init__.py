"""What happens in each modality, for the tests that run over all of them: ``NAME.py`` with ``tell(sim)``."""
