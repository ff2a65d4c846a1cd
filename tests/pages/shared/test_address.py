from dataclasses import dataclass, replace

import pytest

from pages.shared.address import Complaint, choice, flag, integer, read_address, write_address
from pages.shared.catalogue import LANGUAGES, translate


@dataclass(frozen=True)
class Settings:
    query_len: int = integer(1024, name="n", minimum=1, maximum=16_384)
    causal: bool = flag(False, name="causal")
    gpu: str = choice("h200", ["a100", "h200"], name="gpu")


def asked(**parameters: str) -> tuple[Settings, list[Complaint]]:
    return read_address(Settings, parameters)


def test_an_empty_address_is_the_default_without_complaint() -> None:
    assert asked() == (Settings(), [])


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(query_len=1),
        Settings(16_384, True, "a100"),
        Settings(causal=True),
        Settings(gpu="a100"),
    ],
)
def test_reading_what_was_written_gives_the_same_settings(settings: Settings) -> None:
    assert read_address(Settings, write_address(settings)) == (settings, [])


def test_defaults_are_left_out_of_the_address() -> None:
    assert write_address(Settings()) == {}
    assert write_address(Settings(query_len=77, causal=True)) == {"n": "77", "causal": "1"}


@pytest.mark.parametrize(
    ("text", "shown", "key"),
    [
        ("abc", 1024, "address.not_an_integer"),
        ("", 1024, "address.not_an_integer"),
        ("3.7", 1024, "address.not_an_integer"),
        ("1e3", 1024, "address.not_an_integer"),
        ("٣", 1024, "address.not_an_integer"),
        ("-5", 1, "address.below"),
        ("0", 1, "address.below"),
        ("-" + "9" * 5000, 1, "address.below"),
        ("16385", 16_384, "address.above"),
        ("9" * 5000, 16_384, "address.above"),
    ],
)
def test_a_bad_length_gives_the_nearest_valid_one_and_one_complaint(text: str, shown: int, key: str) -> None:
    settings, complaints = asked(n=text)
    assert settings == Settings(query_len=shown)
    assert [complaint.key for complaint in complaints] == [key]


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("16384", 16_384), ("16,384", 16_384), (" 77 ", 77), ("+7", 7)]
)
def test_a_length_may_be_written_as_people_write_it(text: str, value: int) -> None:
    assert asked(n=text) == (Settings(query_len=value), [])


@pytest.mark.parametrize("parameters", [{"causal": "true"}, {"gpu": "b300"}, {"gpu": ""}])
def test_an_unknown_flag_or_choice_gives_the_default_and_one_complaint(parameters: dict[str, str]) -> None:
    settings, complaints = read_address(Settings, parameters)
    assert settings == Settings()
    assert len(complaints) == 1


def test_each_bad_value_has_its_own_complaint_and_good_values_stay() -> None:
    settings, complaints = asked(n="-5", causal="1", gpu="x")
    assert settings == replace(Settings(), query_len=1, causal=True)
    assert [complaint.values["name"] for complaint in complaints] == ["n", "gpu"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["abc", "-5", "99999"])
def test_a_complaint_names_the_parameter_the_value_and_the_rule(language: str, text: str) -> None:
    _, [complaint] = asked(n=text)
    sentence = translate(language, complaint.key, **complaint.values)
    limit = {"abc": "1024", "-5": "1", "99999": "16384"}[text]
    assert "n" in sentence
    assert text in sentence
    assert limit in sentence


def test_a_long_value_is_quoted_short() -> None:
    _, [complaint] = asked(n="x" * 10_000)
    assert len(str(complaint.values["value"])) < 50


def test_a_choice_must_offer_its_default() -> None:
    with pytest.raises(ValueError, match="default must be one of a100, h200, got b300"):
        choice("b300", ["a100", "h200"], name="gpu")
