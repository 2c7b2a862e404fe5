#!/usr/bin/env python3
"""The contract of `hotgemm ... --json`: docs/json has a schema for each output. A program may meet fields that it does
not know; here a field that its schema does not name is a fault.

json_contract.py FILE...: prints what is wrong with these outputs, and exits with 1 if anything is."""

import json
import pathlib
import sys

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
    """The faults in the output of a command, a line for each."""
    output = json.loads(text)
    name = output.get("schema", {}).get("name")
    if name not in ALL:
        return [f"{name} is not the name of a schema"]
    if jsonschema is None:
        return []
    faults = jsonschema.Draft202012Validator(ALL[name]).iter_errors(output)
    return [f"{fault.json_path}: {fault.message[:300]}" for fault in faults]


def main():
    if jsonschema is None:
        sys.exit("json_contract.py needs python3-jsonschema")
    faults = [f"{name}: {fault}" for name in sys.argv[1:] for fault in violations(pathlib.Path(name).read_text("utf-8"))]
    print("\n".join(faults) or "all outputs are what their schemas say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
