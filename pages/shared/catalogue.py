"""Short strings in both languages: gettext catalogues of `locales/<language>/`, read once per process."""

from __future__ import annotations

from functools import cache
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations

LOCALES = Path(__file__).resolve().parents[2] / "locales"
LANGUAGES = {"en": "EN", "zh": "中文"}  # each named in itself


class MissingTextError(LookupError):
    """A page asked for a string that a catalogue does not hold."""


class _Missing(NullTranslations):
    def gettext(self, message: str) -> str:
        raise MissingTextError(f"no text for {message!r} in the catalogue")


@cache
def load_catalogue(language: str) -> Translations:
    """All `.po` files of a language as one catalogue; an unknown key raises `MissingTextError`."""
    merged = Translations()
    for path in sorted((LOCALES / language).glob("*.po")):
        with path.open("rb") as file:
            messages = read_po(file, locale=language, abort_invalid=True)
        compiled = BytesIO()
        write_mo(compiled, messages)
        compiled.seek(0)
        merged.merge(Translations(compiled))
    merged.add_fallback(_Missing())
    return merged


def translate(language: str, key: str, **values: object) -> str:
    """The string of a key with its `{name}` placeholders filled, in a language of `LANGUAGES`."""
    return load_catalogue(language).gettext(key).format(**values)
