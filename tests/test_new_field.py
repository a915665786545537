"""A field that is declared once, in its model, is found with all its protection by
everything that reads fields.

A process of its own has a payer with one more field before anything reads the models.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cases import table

SCRIPT = '''
import io
import json
from typing import Annotated

from payerkit.models import requests
from payerkit.models.fields import field
from payerkit.models.formats import FILLED, Hidden


class Payer(requests.Payer):
    """A payer with a tax number."""

    tax_id: Annotated[
        Hidden,
        FILLED,
        field(
            title="Tax number",
            help="Of the tax office.",
            example="12-3456789",
            section="Compliance",
            kind="digits",
            aliases=("fiscalnumber",),
        ),
    ]


requests.Payer = Payer

import pandas as pd
import payerkit
from payerkit.forms.drawing import form_fields
from payerkit.masking import mask
from payerkit.tables import propose_mapping, template
from payerkit.tables.normalise import findings_in
from published import PAYER

WHOLE = PAYER | {"taxId": "987654321"}


def refused(value):
    try:
        payerkit.Payer(**WHOLE | {"taxId": value})
    except ValueError as error:
        return str(error)


def refused_name(name):
    try:
        payerkit.Payer(**PAYER, **{name: "1"})
    except ValueError as error:
        return str(error)


def warned(value):
    return [item.code for item in payerkit.check_payer(WHOLE | {"taxId": value})]


def damaged(value):
    names, cells = (line.split(",") for line in template("usd-local").splitlines())
    cells[names.index("tax_id")] = value
    text = ",".join(names) + chr(10) + ",".join(cells)
    found = findings_in(payerkit.read_payers(io.StringIO(text)))
    return [(item.code, item.severity) for _, name, item in found if name == "tax_id"]


def proposed(header):
    frame = pd.DataFrame({header: ["1"], "Vorname": ["Ada"], "Nachname": ["L"]})
    return propose_mapping(frame)["field"].iloc[0]


payer = payerkit.Payer(**WHOLE)
rules = payerkit.reference.rules()
rows = [{"inner": {"tax_id": "987654321"}}, {"taxId": "987654321"}]
looks = [repr(payer), payer._repr_html_(), payer.to_dict(), dict(payer)]
looks += [payer.model_dump(), pd.DataFrame([payer]), mask("", rows)]
drawn = form_fields(payerkit.PayerForm.model)["tax_id"]
print(json.dumps({
    "sent": payer.to_dict(reveal=True)["taxId"],
    "by our name": payerkit.Payer(**PAYER, tax_id="1").tax_id.get_secret_value(),
    "shown": [str(look) for look in looks if "987654321" in str(look)],
    "empty": refused(""),
    "masked": refused("••••"),
    "number": refused(987654321),
    "crossed out": warned("XXX-XX-6789"),
    "other digits": warned("٩٨٧٦٥٤٣٢١"),
    "sound": warned("987654321"),
    "fraction": damaged("123456789.0"),
    "letter": damaged("98765O321"),
    "whole": damaged("987654321"),
    "its title": proposed("Tax number"),
    "its name": proposed("Tax ID"),
    "its alias": proposed("Fiscal-Number"),
    "ours": proposed("tax_id"),
    "form": [drawn.title, drawn.help, drawn.is_secret],
    "rules": rules[rules["fields"].str.contains("tax_id")]["code"].tolist(),
    "help": "tax_id*" in payerkit.Payer.__doc__,
    "suggestion": refused_name("fiscalNumber"),
}))
'''


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return what each reader says of the new field."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parent,
    )
    return dict(json.loads(done.stdout))


@pytest.mark.slow
@table("new_field")
def test_a_new_field_has_all_protection(
    found: dict[str, Any], reader: str, expected: Any
) -> None:
    """Each reader of fields treats it as its traits say."""
    assert expected == found[reader]
