"""Fixtures of the domain's tests. The vocabulary is in story.py, the strategies in histories.py."""

import pytest
from hypothesis import settings

pytest.register_assert_rewrite(f"{__package__}.story")
settings.register_profile("domain", deadline=None, print_blob=True)
settings.load_profile("domain")
