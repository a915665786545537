"""Profiles: services under names of the user's, from a file without keys; each with a
key of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from conftest import KEY
from far_end import FarEnd, reply
from payerkit import InvalidInput
from payerkit.client.call import RequestBody
from payerkit.client.pace import DEFAULT_RATE
from payerkit.connection import profiles_file
from published import ANSWERS

WriteFile = Callable[[str], Path]

STAGING = """
[staging]
base_url = "https://api.stage.example.com"

[eu-live]
base_url = "https://api.example.com/"
rate = 2
api = "v2"
timeout = 20
"""


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteFile:
    """Write the user's file."""
    monkeypatch.setenv("PAYERKIT_PROFILES", str(tmp_path / "profiles.toml"))

    def write(text: str) -> Path:
        (tmp_path / "profiles.toml").write_text(text, "utf-8")
        return tmp_path / "profiles.toml"

    return write


def refusal(name: str, **options: Any) -> str:
    """Return the error of a connection that is refused."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.connect(name, **options)
    return str(caught.value)


def settings(client: payerkit.client.Client) -> tuple[object, ...]:
    """Return what a profile can set."""
    return (
        client.base_url,
        client.header,
        client.pace.rate,
        client.api,
        client.timeout.total,
    )


def test_a_name_is_a_profile(profiles: WriteFile) -> None:
    """What is no address is the name of a profile, whose settings the client has; the
    others are the defaults.
    """
    profiles(STAGING)
    plain, full = (
        payerkit.connect(name, api_key="key") for name in ("staging", "eu-live")
    )

    assert (
        "https://api.stage.example.com",
        "x-api-key",
        DEFAULT_RATE,
        "v1",
        60,
    ) == settings(plain)
    assert ("https://api.example.com", "x-api-key", 2, "v2", 20) == settings(full)


def test_the_environment_may_name_a_profile(
    profiles: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PAYERKIT_BASE_URL is an address or a profile; a byte-order mark of an editor on
    Windows is no part of a line.
    """
    profiles("\ufeff" + STAGING)
    monkeypatch.setenv("PAYERKIT_BASE_URL", "staging")

    assert payerkit.connect(api_key="key").base_url == "https://api.stage.example.com"


def test_arguments_win_over_the_profile(profiles: WriteFile) -> None:
    """What is given by name counts, also where it is the default of other clients."""
    profiles(STAGING)
    client = payerkit.connect("eu-live", client_id="id", rate=None, api="v1", timeout=7)

    assert ("https://api.example.com", "x-client-id", None, "v1", 7) == settings(client)


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({"PAYERKIT_PROFILES": "/elsewhere/mine.toml"}, "/elsewhere/mine.toml"),
        ({"PAYERKIT_PROFILES": "~/mine.toml"}, "/home/somebody/mine.toml"),
        ({}, "/home/somebody/.config/payerkit/profiles.toml"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
def test_the_file_is_where_settings_are(
    variables: dict[str, str], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the user's folder for settings, or where the environment says."""
    monkeypatch.setenv("HOME", "/home/somebody")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert Path(file) == profiles_file()


def test_an_unknown_profile_is_told_with_the_known_ones(profiles: WriteFile) -> None:
    """The error names the file and what it has, and does not repeat what was given: it
    may be a key.
    """
    file = profiles(STAGING)
    message = refusal("sk_live_in_the_wrong_place")

    assert f"nor a profile: {file} has eu-live, staging." in message
    assert "sk_live" not in message


def test_without_a_file_there_are_no_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says where the file would be, without the name of the user's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))

    assert refusal("staging").startswith(
        "base_url: neither an address, such as https://api.example.com, nor a profile"
    )
    assert (
        "~/.config/payerkit/profiles.toml does not exist. To make a profile, write two"
        " lines" in refusal("staging")
    )


BASE = '[staging]\nbase_url = "https://api.stage.example.com"\n'


@table("profile_mistakes")
def test_a_faulty_file_is_told(
    profiles: WriteFile, lines: list[str], words: str
) -> None:
    """What is wrong is named, with the profile and the file."""
    profiles("\n".join(lines))

    assert words in refusal("staging", api_key="key")


def test_two_profiles_with_one_variable_are_told(profiles: WriteFile) -> None:
    """The key of one would be sent to the other, so neither is used."""
    profiles(BASE + "[eu-live]\n[eu_live]")

    assert "two profiles whose key would be in PAYERKIT_API_KEY_EU_LIVE" in refusal(
        "eu_live", api_key="key"
    )


@pytest.mark.parametrize(
    "text",
    [
        'base_url = "https://x.example.com"\n' + BASE,
        BASE + "[eu-live]\n[eu_live]",
        BASE + '[x]\ncolour = "red"',
        BASE + "[[x]]\nrate = 1",
    ],
    ids=[
        "a line without a profile",
        "two of one variable",
        "another setting",
        "a list of tables",
    ],
)
def test_a_faulty_profile_stops_no_other(profiles: WriteFile, text: str) -> None:
    """What is wrong elsewhere in the file is told when it is used."""
    profiles(text)

    assert (
        "https://api.stage.example.com"
        == payerkit.connect("staging", api_key="key").base_url
    )


def test_a_file_that_cannot_be_read_is_told(profiles: WriteFile) -> None:
    """A file in another encoding, or a folder in its place, is named."""
    file = profiles("")
    file.write_bytes(b"[staging]\nbase_url = '\xff'")
    assert f"PAYERKIT_PROFILES: {file} cannot be read: " in refusal("staging")
    file.unlink()
    file.mkdir()

    assert f"PAYERKIT_PROFILES: {file} cannot be read: " in refusal("staging")


def test_a_key_in_the_file_is_refused(profiles: WriteFile) -> None:
    """The error names the line and where the key belongs, and does not show it."""
    profiles(BASE + f'api_key = "{KEY}"')
    message = refusal("staging", api_key="key")

    assert "api_key: not a setting of a profile" in message
    assert "The key goes into PAYERKIT_API_KEY_STAGING." in message
    assert KEY not in message


@pytest.mark.parametrize(
    ("name", "api_key", "key"),
    [
        (
            "eu-live",
            None,
            "the-live-key",
        ),  # its variable: PAYERKIT_API_KEY_ and the name in capitals
        ("eu-live", "argument", "argument"),
        ("https://api.example.com", None, "the-key-of-an-address"),
    ],
)
def test_each_profile_has_a_key_of_its_own(
    name: str,
    api_key: str | None,
    key: str,
    profiles: WriteFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An argument wins over the variable."""
    profiles(STAGING)
    monkeypatch.setenv("PAYERKIT_API_KEY", "the-key-of-an-address")
    monkeypatch.setenv("PAYERKIT_API_KEY_EU_LIVE", "the-live-key")

    assert key == payerkit.connect(name, api_key=api_key).reveal_key()


@pytest.mark.parametrize(
    ("name", "variable", "words"),
    [
        ("staging", "PAYERKIT_API_KEY", "set PAYERKIT_API_KEY_STAGING"),
        (
            "https://api.stage.example.com",
            "PAYERKIT_API_KEY_STAGING",
            "set PAYERKIT_API_KEY to the key",
        ),
    ],
)
def test_the_key_of_another_service_is_not_used(
    name: str,
    variable: str,
    words: str,
    profiles: WriteFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key never goes to a service for which it was not set; the error names what to
    set, and does not show it.
    """
    profiles(STAGING)
    monkeypatch.setenv(variable, "the-other-key")
    message = refusal(name)

    assert (True, False) == (words in message, "the-other-key" in message)


@pytest.mark.parametrize("given", [{"client_id": KEY}, {}], ids=["given", "set"])
def test_a_client_id_is_sent_in_its_own_header(
    given: dict[str, Any], profiles: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in no other, whether it is given or in the variable of the profile."""
    monkeypatch.setenv("PAYERKIT_CLIENT_ID_LOCAL", KEY)
    with FarEnd([reply(200, RequestBody(ANSWERS["get_payer_status"]).content)]) as far:
        profiles(f'[local]\nbase_url = "{far.url}"')
        with payerkit.connect("local", **given) as client:
            for each in (client, client.without_retries()):
                payerkit.get_payer_status(each, "user-123")

        assert [(KEY, False)] * 2 == [
            (request.headers["x-client-id"], "x-api-key" in request.headers)
            for request in far.ledger
        ]


def test_a_key_and_a_client_id_at_once_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody can tell which of the two is meant; one that is given wins over both that
    are set.
    """
    url = "https://api.request.network"
    both = refusal(url, api_key="key", client_id="id")
    monkeypatch.setenv("PAYERKIT_API_KEY", "key")
    monkeypatch.setenv("PAYERKIT_CLIENT_ID", "id")

    assert "give either a Client ID or an API key" in both
    assert "PAYERKIT_CLIENT_ID and PAYERKIT_API_KEY are both set" in refusal(url)
    assert "x-client-id" == payerkit.connect(url, client_id="mine").header
    assert "x-api-key" == payerkit.connect(url, api_key="mine").header


@pytest.mark.parametrize(("option", "value"), [("api", "v3"), ("api", 2)])
def test_choices_are_checked(option: str, value: Any) -> None:
    """A version that there is not is refused, with those that there are."""
    assert f"{option}: expected '" in refusal(
        "https://api.example.com", api_key="key", **{option: value}
    )
