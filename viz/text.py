"""The catalogue as a chart sees it."""

from collections.abc import Callable

Text = Callable[..., str]  # text(key, **values) gives a sentence in the page's language
