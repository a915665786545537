"""The OpenAPI document of the service: it says what each call takes and returns, and the service does what it says."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from jsonschema import Draft202012Validator, FormatChecker

import payerkit.service
from cases import DATA, table
from payerkit.service.errors import ERRORS
from payerkit.service.server import Service
from payerkit.service.settings import Settings
from published import ANSWERS, PUBLISHED

SERVICE = Path(payerkit.service.__file__).parent
SCHEMAS = "#/components/schemas/"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Yield a service that decides at once."""
    service = Service(Settings(seed=1, decide_after=0), environment={})
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    """Return the service's document."""
    return dict(requests.get(f"{service.url}/openapi.json", timeout=20).json())


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of a document by their ids."""
    return {each["operationId"]: each for path in document["paths"].values() for each in path.values()}


def content(described: dict[str, Any]) -> dict[str, Any]:
    """Return what is documented of the JSON of a body or a response."""
    return dict(described["content"]["application/json"])


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    """Return a validator of a schema in a document, which looks at formats, too."""
    whole = {**schema, "components": document["components"]}
    return Draft202012Validator(whole, format_checker=FormatChecker(["email"]))


def test_every_schema_is_valid(document: dict[str, Any]) -> None:
    """A generator of clients can read every schema."""
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@table("service_statuses")
def test_every_call_documents_its_statuses(document: dict[str, Any], operation: str, statuses: list[int]) -> None:
    """Each call documents what it may get and nothing else; one under /v2 what it gets under /v1."""
    found = [
        sorted(map(int, each["responses"]))
        for name, each in operations(document).items()
        if name.removesuffix("_v2") == operation
    ]

    assert [statuses] * (2 if operation in TWICE else 1) == found


TWICE = ("update_agreement", "create_payment_detail", "list_payment_details")


def test_every_call_has_a_row_of_statuses(document: dict[str, Any]) -> None:
    """None is left out of the table."""
    file = DATA / "service_statuses.tsv"
    listed = {row.partition("\t")[0] for row in file.read_text("utf-8").splitlines()[1:]}

    assert {name.removesuffix("_v2") for name in operations(document)} == listed, f"{file}: one row per call"


def test_every_refusal_has_the_schema_of_errors(document: dict[str, Any]) -> None:
    """A generated client gets one type for all of them; only a proxy's page, as of a fault, has none."""
    found = {
        (int(status), content(response)["schema"]["$ref"])
        for each in operations(document).values()
        for status, response in each["responses"].items()
        if int(status) >= 400 and status != "502"
    }

    assert {(status, f"{SCHEMAS}ErrorResponse") for status in ERRORS} == found


def test_a_refusal_fits_its_schema(service: Service, document: dict[str, Any]) -> None:
    """With the fields that are invalid, without a key, and for what is not there."""
    headers = {"x-api-key": service.api_key}
    refusals = [
        requests.post(f"{service.url}/v1/pay", json={}, headers=headers, timeout=20).json(),
        requests.get(f"{service.url}/v2/payer/nobody", timeout=20).json(),
        requests.get(f"{service.url}/v2/payer/nobody", headers=headers, timeout=20).json(),
    ]
    schema = tightened(document)["components"]["schemas"]["ErrorResponse"]

    assert [True] * 3 == [validator(document, schema).is_valid(each) for each in refusals]


def calls_in_the_service(name: str) -> list[ast.Call]:
    """Return the calls of a function or a method in all modules of the service."""
    sources = [ast.parse(file.read_text("utf-8")) for file in SERVICE.glob("*.py")]
    calls = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Call)]
    return [call for call in calls if name in {getattr(call.func, "id", None), getattr(call.func, "attr", None)}]


def constant(node: ast.expr) -> Any:
    """Return the value of a constant; None for anything else."""
    return node.value if isinstance(node, ast.Constant) else None


def test_no_refusal_is_forgotten(document: dict[str, Any]) -> None:
    """Every status and code with which a module of the service refuses anything stands in the document."""
    schemas = document["components"]["schemas"]
    refused = calls_in_the_service("Problem")
    statuses = {constant(call.args[0]) for call in refused} - {None, 405}  # no operation has a method that is not there
    codes = {
        (constant(call.args[0]), constant(each.value))
        for call in refused
        for each in call.keywords
        if each.arg == "code"
    }
    codes -= {(status, None) for status in statuses}
    field_codes = {constant(call.args[2]) for call in calls_in_the_service("of_field")} - {None}
    documented = str(schemas["ErrorResponse"]["properties"]["code"])

    assert (True, True) == (len(codes) > 1, len(field_codes) > 5)
    assert statuses <= ERRORS.keys()
    assert field_codes <= set(schemas["FieldError"]["properties"]["code"]["enum"])
    assert [] == [(status, code) for status, code in codes if f"'{code}'" not in documented]


def test_only_a_fault_brings_a_page(document: dict[str, Any]) -> None:
    """The calls of the API may get a proxy's page with 502 or 503; every other response is JSON."""
    pages = {
        (name, status)
        for name, each in operations(document).items()
        for status, response in each["responses"].items()
        if "text/html" in response["content"]
    }
    of_the_api = {name for name in operations(document) if not name.startswith("sandbox_")}

    assert {(name, status) for name in of_the_api for status in ("502", "503")} == pages


PUBLISHED_BODIES = {
    "create_payer": PUBLISHED["payers"],
    "create_payment_detail": PUBLISHED["bank_details"],
    "initiate_payment": PUBLISHED["orders"],
    "create_request": PUBLISHED["payout_orders"],
}


def test_bodies_have_the_published_examples(document: dict[str, Any]) -> None:
    """The document shows the published bodies, which /docs offers to try."""
    shown = {
        name: {
            title: each["value"]
            for title, each in content(operations(document)[name]["requestBody"])["examples"].items()
        }
        for name in PUBLISHED_BODIES
    }

    assert PUBLISHED_BODIES == shown


PUBLISHED_RESPONSES = {
    "create_payer": ("200", ANSWERS["create_payer"], {"agreementUrl", "kycUrl"}),  # these lead to the sandbox's pages
    "get_payer_status": ("200", ANSWERS["get_payer_status"], set()),
    "update_agreement": ("200", ANSWERS["update_agreement"], set()),
    # The published id of this call is of another kind than the one in the published list.
    "create_payment_detail": ("201", ANSWERS["create_payment_detail"], {"id"}),
    "list_payment_details": ("200", ANSWERS["list_payment_details"], set()),
    "initiate_payment": ("201", ANSWERS["pay_complete"], set()),  # the others have elided calldata
}


@pytest.mark.parametrize("name", PUBLISHED_RESPONSES)
def test_responses_have_the_published_examples(document: dict[str, Any], name: str) -> None:
    """An example has every published value, besides what the sandbox adds."""
    status, published, own = PUBLISHED_RESPONSES[name]
    (example,) = content(operations(document)[name]["responses"][status])["examples"].values()

    assert contains(example["value"], published, own)


def contains(value: Any, published: Any, own: set[str]) -> bool:
    """Return True if a value has every published one, but for the members named in own."""
    if isinstance(published, dict):
        return all(name in own or contains(value[name], each, own) for name, each in published.items())
    if isinstance(published, list):
        return all(contains(*pair, own) for pair in zip(value, published, strict=True))
    return bool(value == published)


def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    """No example contradicts the schema beside it."""
    documented = [
        content(each)
        for operation in operations(document).values()
        for each in (operation.get("requestBody"), *operation["responses"].values())
        if each and "application/json" in each.get("content", {})
    ]
    examples = [(each["schema"], one["value"]) for each in documented for one in each.get("examples", {}).values()]
    examples += [
        (schema, example)
        for each in document["components"]["schemas"].values()
        for schema in each.get("properties", {}).values()
        for example in schema.get("examples", ())
    ]

    assert len(examples) > 30
    assert [] == [str(error) for schema, one in examples for error in validator(document, schema).iter_errors(one)]


def test_a_body_that_breaks_a_pattern_is_no_valid_one(document: dict[str, Any]) -> None:
    """The document refuses what the service refuses for its form."""
    schema = {"$ref": f"{SCHEMAS}PayerRequest"}
    payer = PUBLISHED["payers"]["individual"]
    broken = {"clientUserId": "a\nb", "email": "x..y@example.com", "phone": "+0", "dateOfBirth": "1985-1-1"}
    refused = {
        name for name, value in broken.items() if not validator(document, schema).is_valid({**payer, name: value})
    }

    assert (set(broken), True) == (refused, validator(document, schema).is_valid(payer))


def tightened(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with schemas of responses that permit no further members, so that none goes unseen."""
    schemas = {
        name: schema
        if name.endswith("Request") or "properties" not in schema
        else {**schema, "additionalProperties": False}
        for name, schema in document["components"]["schemas"].items()
    }
    return {**document, "components": {**document["components"], "schemas": schemas}}


ACCEPTANCE = "positive_data_acceptance"
EXCEPTIONS = [
    (ACCEPTANCE, "initiate_payment"),  # not every text is a currency, and not every address has a valid checksum
    (ACCEPTANCE, "create_request"),  # likewise
    (ACCEPTANCE, "list_payments"),  # needs a filter, and times
    (ACCEPTANCE, "sandbox_execute"),  # not all calldata is a payment
    (ACCEPTANCE, "sandbox_set_rate"),  # must not be zero
    (ACCEPTANCE, "sandbox_set_holding"),  # has no more digits than its currency
    (ACCEPTANCE, "sandbox_set_faults"),  # has a grammar of its own
    (ACCEPTANCE, "sandbox_advance_clock"),  # ends with the year 9999
]


def write_settings(folder: Path) -> None:
    """Write which checks do not apply to which operation, as schemathesis reads it."""
    lines = []
    for check, name in EXCEPTIONS:
        lines += ["[[operations]]", f'include-operation-id = "{name}"', f"checks.{check}.enabled = false"]
    folder.joinpath("schemathesis.toml").write_text("\n".join(lines), "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "selection",
    [
        ["--exclude-operation-id", "sandbox_set_faults"],
        ["--include-operation-id", "sandbox_set_faults"],  # afterwards, since its faults would break other calls
    ],
    ids=["calls", "faults"],
)
def test_the_service_does_what_its_document_says(
    service: Service, document: dict[str, Any], selection: list[str], tmp_path: Path
) -> None:
    """No call fails, responds with what is not documented, refuses what is valid, or accepts what is not."""
    write_settings(tmp_path)
    tmp_path.joinpath("document.json").write_text(json.dumps(tightened(document)), "utf-8")
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", "document.json", "--url", service.url),
        *("--header", f"x-api-key: {service.api_key}", "--phases", "examples,coverage,fuzzing"),
        *("--seed", "1", "--max-examples", "10", "--generation-database", "none", "--continue-on-failure"),
        *selection,
    ]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=180
    )

    assert done.returncode == 0, done.stdout
