from collections import Counter
from string import Formatter

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from pages.shared.catalogue import LANGUAGES, LOCALES, MissingTextError, translate


def messages_of(language: str) -> list[Message]:
    found = []
    for path in sorted((LOCALES / language).glob("*.po")):
        with path.open("rb") as file:
            found += [message for message in read_po(file, locale=language) if message.id]
    return found


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_keys() -> None:
    english, chinese = ({message.id for message in messages_of(language)} for language in ("en", "zh"))
    assert english == chinese


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_is_defined_twice_and_none_is_empty(language: str) -> None:
    messages = messages_of(language)
    assert [key for key, count in Counter(message.id for message in messages).items() if count > 1] == []
    assert [message.id for message in messages if not message.string or message.fuzzy] == []


def test_both_languages_fill_the_same_placeholders() -> None:
    english, chinese = (
        {message.id: placeholders(str(message.string)) for message in messages_of(language)}
        for language in ("en", "zh")
    )
    assert english == chinese


def test_a_missing_key_is_an_error_and_not_its_own_text() -> None:
    with pytest.raises(MissingTextError, match=r"no\.such\.key"):
        translate("en", "no.such.key")


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        translate("en", "address.below", name="n")
