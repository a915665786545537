"""The published examples of the service, as tests use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("data").joinpath("published.json").read_text("utf-8"))

PAYER: dict[str, str] = PUBLISHED["payers"]["individual"]
BANK_DETAILS: dict[str, str] = PUBLISHED["bank_details"]["us_business"]
ORDER: dict[str, str] = PUBLISHED["orders"]["native"]
ANSWERS: dict[str, Any] = PUBLISHED["answers"]
