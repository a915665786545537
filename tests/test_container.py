"""The command of notebook 07 for a container: what the container would run is run here without one."""

from __future__ import annotations

import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
import requests

import payerkit
from payerkit.service.keys import new_encryption_key
from processes import running_command
from published import PAYER

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "07-share-a-sandbox.ipynb"
KEY = "a-key-for-a-container"


def docker_command() -> list[str]:
    """Return the words of the command."""
    text = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells)
    (found,) = re.findall(r"```bash\n(docker run .*)\n```", text)
    return shlex.split(found)


def options(words: list[str], name: str) -> list[str]:
    """Return the values of an option."""
    return [value for option, value in pairwise(words) if option == name]


def test_the_command_serves_the_port_and_the_folder_that_it_names() -> None:
    """The published port is the one on which the sandbox listens, and its database is in the volume."""
    words = docker_command()
    inner = words[-1]

    assert ["8765:8765"] == options(words, "-p")  # the default port
    assert ("sh", "-c") == tuple(words[-3:-1])
    assert all(f"--db {volume.partition(':')[2]}/" in inner for volume in options(words, "-v"))
    assert "pip install --quiet 'payerkit[sandbox]' && exec payerkit sandbox " in inner


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the command is one of a shell")
def test_what_the_container_runs_serves_a_key_of_the_environment(tmp_path: Path) -> None:
    """With the variables that the command passes on and no others, in an empty folder, started twice."""
    words = docker_command()
    passed = {"PAYERKIT_SANDBOX_API_KEY": f"alice:{KEY}", "PAYERKIT_SANDBOX_ENCRYPTION_KEY": new_encryption_key()}
    assert [*passed] == options(words, "-e")
    command = words[-1].partition("&& ")[2].replace("/data/", f"{tmp_path}/")
    environment = {**passed, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PAYERKIT_SANDBOX_PORT": "0"}
    for _ in range(2):
        with running_command(["sh", "-c", command], environment, tmp_path) as (printed, _):
            url = re.findall(r"http://0\.0\.0\.0:[0-9]+", printed)[0].replace("0.0.0.0", "127.0.0.1")  # noqa: S104
            client = payerkit.connect(url, api_key=KEY)
            payerkit.create_payer(client, PAYER)
            client.close()
            status = requests.get(f"{url}/", timeout=10).status_code

        assert (200, False) == (status, KEY in printed)
