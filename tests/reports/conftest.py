"""One browser for all tests of pages."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from page_browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    yield from chromium()
