#!/usr/bin/env python3
"""The contract of `--json` (docs/json): every command has a schema, docs/json.md names it, and its output, good or bad,
is what the schema says. The other tests of tests/cli check their outputs against it too."""

import copy
import json
import pathlib
import re
import sys

import cli_test
import json_contract

ROOT = pathlib.Path(__file__).resolve().parents[2]


class JsonTest(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        if json_contract.jsonschema is None:
            self.skipTest("needs python3-jsonschema")

    def commands(self, *group):
        """The words of each command that takes --json, as --help lists them."""
        text = self.run_command(*group, "--help").stdout
        if "\nCommands:\n" not in text:
            return [list(group)] if "--json" in text else []
        listed = text.split("\nCommands:\n")[1].split("\n\n")[0]
        return [words for name in re.findall(r"^  (\w+)", listed, re.MULTILINE) for words in self.commands(*group, name)]

    def test_every_command_has_a_schema_that_the_page_names(self):
        page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
        names = {"-".join(words) for words in self.commands()}
        self.assertGreaterEqual(len(names), 20)
        self.assertLessEqual(names, set(json_contract.ALL))
        for name in json_contract.ALL:
            self.assertIn(f"json/{name}.json", page)

    def test_schemas_are_schemas_of_this_version(self):
        for name, schema in json_contract.ALL.items():
            json_contract.jsonschema.Draft202012Validator.check_schema(schema)
            identity = schema["properties"]["schema"]["properties"]
            self.assertEqual((identity["name"], identity["version"]), ({"const": name}, {"const": 1}))

    def test_a_field_too_many_too_few_or_of_another_type_is_a_fault(self):
        output = self.run_json("prewarm", "--arch", "sm_80", "--shape", "64x64x64", "--list")
        self.assertEqual(output["schema"], {"name": "prewarm-list", "version": 1})

        def faults(change):
            changed = copy.deepcopy(output)
            change(changed)
            return json_contract.violations(json.dumps(changed))
        self.assertEqual(faults(lambda o: None), [])
        for change in (lambda o: o.update(surplus=1), lambda o: o.pop("results"), lambda o: o.update(to_compile="1"),
                       lambda o: o["results"][0].update(surplus=1), lambda o: o["results"][0].update(problem="64x64x64"),
                       lambda o: o["schema"].update(name="none"), lambda o: o["schema"].update(version=2)):
            self.assertNotEqual(faults(change), [])

    def test_a_problem_of_an_output_is_one_of_a_shape_file(self):
        first = self.run_json("prewarm", "--arch", "sm_80", "--list", "--shape", "63 62 60 nt bf16 ldd=64 beta=1",
                              "--shape", "64 64 64 nn f16 epilogue=bias+gelu workspace=none")
        (self.path / "s.txt").write_text("\n".join(r["problem"] for r in first["results"]))
        again = self.run_json("prewarm", "--arch", "sm_80", "--list", "--shapes", "s.txt")
        self.assertEqual(again["results"], first["results"])
        shown = self.run_json("show", "--arch", "sm_80", "--shapes", "s.txt")
        self.assertEqual({r["problem"] for r in shown["results"]}, {r["problem"] for r in first["results"]})

    def test_commands_that_need_no_gpu(self):
        """run_json compares each output with its schema."""
        line = {"problem": "64 64 64 nn f16"}
        (self.path / "bad.jsonl").write_text(json.dumps(line) + "\n")
        (self.path / "empty.jsonl").write_text("")
        config = cli_test.CONFIG
        for words, name in ((["info"], "info"), (["show", config], "show"), (["show", "--shape", "64x64x64"], "show"),
                            (["show", config, "--source"], "show"), (["cache", "ls"], "cache-ls"),
                            (["cache", "stat"], "cache-stat"), (["cache", "path"], "cache-path"),
                            (["cache", "clear"], "cache-clear"), (["cache", "trim", "--max-size", "1"], "cache-trim"),
                            (["db", "show"], "db-show"), (["db", "digest"], "db-digest"), (["db", "prune"], "db-prune"),
                            (["db", "rejections"], "db-rejections"),
                            (["db", "rejections", "--clear"], "db-rejections-clear"),
                            (["db", "merge", "out.jsonl", "empty.jsonl"], "db-merge"),
                            (["db", "diff", "empty.jsonl", "empty.jsonl"], "db-diff"),
                            (["db", "lint", "empty.jsonl"], "db-lint")):
            self.assertEqual(self.run_json(*words)["schema"], {"name": name, "version": 1}, words)
        self.assertEqual(self.run_json("db", "lint", "bad.jsonl", expect=2)["schema"]["name"], "db-lint")

    def test_every_code_of_an_error_is_in_the_schema(self):
        header = (ROOT / "include/hotgemm/error.hpp").read_text(encoding="utf-8")
        codes = re.findall(r"^  (\w+),", header.split("enum class ErrorCode")[1].split("};")[0], re.MULTILINE)
        self.assertGreater(len(codes), 10)
        known = json_contract.load(json_contract.COMMON)["$defs"]["error"]["properties"]["code"]["enum"]
        self.assertEqual(sorted(known), sorted([*codes, "usage"]))

    def test_errors_have_one_shape(self):
        for words, code, expect, name in ((["bogus"], "usage", 1, "error"), (["tune"], "invalid_argument", 1, "tune"),
                                          (["tune", "--bogus"], "usage", 1, "error"),
                                          (["bench", "--shape", "8x8x8"], "no_driver", 3, "bench"),
                                          (["ladder"], "no_driver", 3, "ladder"),
                                          (["bench", "--exhaustive", "--shape", "8x8x8"], "no_driver", 3, "bench-exhaustive"),
                                          (["cache", "extract", "ff", "f"], "invalid_argument", 1, "cache-extract")):
            output = self.run_json(*words, expect=expect)
            self.assertEqual((output["error"]["code"], output["schema"]["name"]), (code, name), words)


if __name__ == "__main__":
    sys.exit(cli_test.main())
