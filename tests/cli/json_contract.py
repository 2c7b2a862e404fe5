"""The contract of `hotgemm ... --json`: docs/json has a schema for each output. A program may meet fields that it does
not know; here a field that its schema does not name is a fault."""

import json
import pathlib

try:
    import jsonschema
except ImportError:  # tools/setup installs it; without it json_test.py reports itself as skipped
    jsonschema = None

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "docs/json"
COMMON = "common.json"


def load(name):
    return json.loads((DIRECTORY / name).read_text(encoding="utf-8"))


def closed(schema, definitions):
    """`schema` with what it refers to in place of references, and without room for fields that it does not name."""
    if isinstance(schema, list):
        return [closed(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return closed(definitions[schema["$ref"].removeprefix(f"{COMMON}#/$defs/")], definitions)
    inner = {key: closed(value, definitions) for key, value in schema.items()}
    if isinstance(inner.get("properties"), dict):
        inner.setdefault("additionalProperties", False)
    return inner


def schemas():
    """Every schema of an output, by its name."""
    definitions = load(COMMON)["$defs"]
    return {path.stem: closed(load(path.name), definitions) for path in DIRECTORY.glob("*.json") if path.name != COMMON}


ALL = schemas()


def violations(text):
    """What is wrong with the output of a command, a line for each fault."""
    output = json.loads(text)
    name = output.get("schema", {}).get("name")
    if name not in ALL:
        return [f"{name} is not the name of a schema"]
    if jsonschema is None:
        return []
    faults = jsonschema.Draft202012Validator(ALL[name]).iter_errors(output)
    return [f"{fault.json_path}: {fault.message[:300]}" for fault in faults]
