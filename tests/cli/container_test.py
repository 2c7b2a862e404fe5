#!/usr/bin/env python3
"""Checks examples/container/Dockerfile without building it: its stages, COPY, USER and ENV lines, and the modes of what
it copies. Its prewarm lines are run by the command of this build, with their paths moved below a test's directory."""

import json
import pathlib
import re
import shlex
import sys

import cli_test

ROOT = pathlib.Path(__file__).parents[2]
CONTAINER = ROOT / "examples" / "container"
COMMAND = "/opt/hotgemm/bin/hotgemm"


def instructions(text):
    """(name, rest) of each instruction of a Dockerfile."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = lines.replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def words_of(rest):
    """The words of a RUN, CMD or ENTRYPOINT line, in either form."""
    return json.loads(rest) if rest.startswith("[") else shlex.split(rest)


class Stage:
    def __init__(self, base, name):
        self.base, self.name = base, name
        self.lines = []

    def of(self, name):
        return [rest for instruction, rest in self.lines if instruction == name]


def stages_of(text):
    stages = []
    for name, rest in instructions(text):
        if name == "FROM":
            words = rest.split()
            stages.append(Stage(words[0], words[2] if len(words) == 3 else ""))
        else:
            stages[-1].lines.append((name, rest))
    return stages


class ContainerTest(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        self.stages = stages_of((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
        self.last = self.stages[-1]

    def test_every_instruction_is_known(self):
        for stage in self.stages:
            for name, _ in stage.lines:
                self.assertIn(name, ("WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"))

    def test_what_is_copied_exists(self):
        named = []
        for stage in self.stages:
            for rest in stage.of("COPY"):
                words = shlex.split(rest)
                if words[0].startswith("--from="):
                    self.assertIn(words[0].removeprefix("--from="), named)
                else:
                    for source in words[:-1]:
                        self.assertTrue((ROOT / source).exists(), source)
            self.assertTrue(stage.base.startswith("debian:") or stage.base in named, stage.base)
            named.append(stage.name)

    def test_it_runs_as_a_user_without_rights_and_writes_nothing(self):
        self.assertEqual(len(self.last.of("USER")), 1)
        self.assertTrue(all(int(part) > 0 for part in self.last.of("USER")[0].split(":")))
        names = [name for name, _ in self.last.lines]
        self.assertLess(names.index("USER"), names.index("CMD"))
        variables = dict(word.split("=", 1) for word in shlex.split(" ".join(self.last.of("ENV"))))
        copied = [shlex.split(rest)[-1] for rest in self.last.of("COPY")]
        self.assertIn(variables["HOTGEMM_CACHE_PATH"], copied)
        self.assertEqual(variables["HOTGEMM_CACHE"], "ro")
        known = {variable["name"] for variable in self.run_json("info")["variables"]}
        self.assertLessEqual(set(variables), known)

    def test_the_build_uses_presets_and_targets_that_exist(self):
        build = " ".join(self.stages[0].of("RUN"))
        presets = {p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]}
        self.assertLessEqual(set(re.findall(r"--preset (\S+)", build)), presets)
        cmake = (ROOT / "CMakeLists.txt").read_text()
        for target in re.search(r"--target ([\w ]+?) *&&", build)[1].split():
            self.assertRegex(cmake, rf"add_(library|executable)\({target}\b")
        self.assertTrue((ROOT / "tools/setup").exists())
        self.assertIn("install_packages()", (ROOT / "tools/setup").read_text())

    def prewarms(self):
        """The words of every prewarm in the file, with its paths below the test's directory."""
        moved = {"/opt/kernels": str(self.path / "kernels"), "/etc/hotgemm/shapes.txt": str(CONTAINER / "shapes.txt")}
        all_words = []
        for stage in self.stages:
            lines = [words_of(rest) for rest in stage.of("RUN")]
            if stage.of("ENTRYPOINT"):
                lines.append(words_of(stage.of("ENTRYPOINT")[0]) + words_of(stage.of("CMD")[0]))
            for words in lines:
                if words[0] == COMMAND:
                    all_words.append([moved.get(word, word) for word in words[1:]])
        return all_words

    def test_its_prewarm_is_complete(self):
        self.need_nvrtc()
        build, verify, command = self.prewarms()
        self.assertEqual(verify, command, "what the build checks is what a run of the image checks")
        self.assertGreater(json.loads(self.run_command(*build, "--json").stdout)["stored"], 0)
        for path in [self.path / "kernels", *(self.path / "kernels").rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o777, 0o755 if path.is_dir() else 0o644, path)
        self.environment.update(HOTGEMM_CACHE_PATH=str(self.path / "kernels"), HOTGEMM_CACHE="ro", HOTGEMM_TUNE="never",
                                HOTGEMM_LIBNVRTC="/nonexistent")
        self.run_command(*verify)


if __name__ == "__main__":
    sys.exit(cli_test.main())
