#!/usr/bin/env python3
"""The parts that people meet first: messages about wrong arguments, help, the version, completions, manual pages, progress."""

import fcntl
import os
import pathlib
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios

import cli_test

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
COMMANDS = ("bench", "cache", "cache trim", "completion", "db", "db merge", "emulate", "info", "ladder", "prewarm", "show", "tune")


class MessageTest(cli_test.CliTest):
    def test_an_argument_error_says_in_words_what_is_expected(self):
        bench = ["bench", "--shape", "8x8x8"]
        for words, message in (
                ([*bench, "--budget", "0"], "--budget 0: expected a number above 0"),
                ([*bench, "--budget=-3"], "--budget -3: expected a number above 0"),
                ([*bench, "--rounds", "x"], "--rounds x: expected a whole number from 1 to 100000"),
                ([*bench, "--seed", "many"], "--seed many: expected a whole number of at least 0"),
                ([*bench, "--seed", "-1"], "--seed -1: expected a whole number of at least 0"),
                (["emulate", "--shape", "8x8x8", "--seed=-1"], "--seed -1: expected a whole number of at least 0"),
                (["show", "--shape", "8x8x8", "--top", "-1"], "--top -1: expected a whole number of at least 0"),
                (["show", "--shape", "8x8x8", "--top", "9" * 20],
                 "--top 99999999999999999999: expected a whole number of at least 0"),
                ([*bench, "--device", "-1"], "--device -1: expected a whole number of at least 0"),
                ([*bench, "--mode", "egaer"], "--mode egaer: expected one of eager, graph, auto; did you mean eager?"),
                ([*bench, "--beta", "3"], "--beta 3: expected one of 0, 1"),
                ([*bench, "--rounds"], "--rounds needs a value: a whole number from 1 to 100000"),
                ([*bench, "--scratch", "lots"], "--scratch: size 'lots': expected bytes, or a number with K, M, G or T"),
                ([*bench, "--scratch", "0"], "--scratch: size '0': operands need memory"),
                (["ladder", "--scratch", "lots"], "--scratch: size 'lots': expected bytes, or a number with K, M, G or T"),
                ([*bench, "--exhaustive", "--quality"], "--exhaustive and --quality cannot be given together"),
                ([*bench, "--commit", "x"], "--commit means nothing without --results"),
                ([*bench, "--in-process"],
                 "--in-process means nothing without --exhaustive, --quality or --compare-measures"),
                ([*bench, "--quiet=3"], "--quiet takes no value"),
                ([*bench, "-x", "4"], "bench has no option -x"),
                ([*bench, "--exhaustiv"], "bench has no option --exhaustiv; did you mean --exhaustive?"),
                (["tune", "--shape", "8x8x8", "--run-budget", "5x"],
                 "--run-budget: 5x: expected a time above 0, as in 90, 90s, 10m or 2h"),
                (["tune", "--shape", "8x8x8", "--run-budget", "inf"],
                 "--run-budget: inf: expected a time above 0, as in 90, 90s, 10m or 2h"),
                ([*bench, "--budget", "nan"], "--budget nan: expected a number above 0"),
                (["tune", "--shape", "8x8x8", "--gpu-share", "NaN"],
                 "--gpu-share NaN: expected a number from 0.001 to 1"),
                (["ladder", "--round-us", "inf"], "--round-us inf: expected a number above 0"),
                (["prewarm", "--shape", "8x8x8", "--layer", ""], "--layer needs a value: DIR"),
                (["prewarm", "--shape", "8x8x8", "--shard="], "--shard needs a value: i/n|auto"),
                (["prewarm", "--shape", "8x8x8", "--arch", "sm_80", "--m-buckets", "5"],
                 "--m-buckets: m is '5': expected FIRST:LAST, as in 1:4096"),
                (["info", "gpu"], "info takes no arguments without dashes: gpu"),
                (["prewarm", "--shape", "8x8x8", "--m-buckets"], "--m-buckets needs a value: RANGE"),
                (["db", "lint"], "db lint needs file"), (["cache", "trim"], "cache trim needs --max-size"),
                (["cache", "trim", "--max-size", "many"],
                 "--max-size: size 'many': expected bytes, or a number with K, M, G or T"),
                (["help", "tuen"], "hotgemm has no command tuen; did you mean tune?"),
                (["completion", "tcsh"], "shell tcsh: expected one of bash, zsh, fish")):
            with self.subTest(words=words):
                self.assertEqual(self.run_command(*words, expect=1).stderr, f"hotgemm: {message}\n")

    def test_scripts_name_a_word_that_they_do_not_know(self):
        for script in ("quickstart", "check"):
            done = subprocess.run([TOOLS / script, "nonsense"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), script)
            self.assertRegex(done.stderr, f"^{script}: unknown .* nonsense; see tools/{script} --help\n$")

    def test_options_are_where_they_mean_something(self):
        for words in (["cache", "ls", "--device", "0"], ["db", "merge", "a", "b", "--cache-dir", "."], ["info", "-q"],
                      ["emulate", "--shape", "8x8x8", "--device", "0"], ["show", cli_test.CONFIG, "--top", "3"],
                      ["show", "--shape", "8x8x8", "--top", "3", "--all"],
                      ["show", "--shape", "8x8x8", "--top", "3", "--anchors"],
                      ["show", "--shape", "8x8x8", "--all", "--anchors"],
                      ["show", "--shape", "8x8x8", "--all", "--build"],
                      ["show", "--shape", "8x8x8", "--anchors", "--source"],
                      ["prewarm", "--arch", "sm_80", "--shape", "8x8x8", "--list", "--report"],
                      ["prewarm", "--arch", "sm_80", "--shape", "8 8 8 nn f16", "--dtype", "bf16"]):
            self.run_command(*words, expect=1)
        nt = self.run_command("show", cli_test.CONFIG, "--source", "--layout", "nt", "--arch", "sm_80").stdout
        self.assertIn("Op::t", nt)

    def test_a_config_is_shown_for_one_problem(self):
        for words in (["--shape", "8x8x8,8x16x8"], ["--shape", "8x8x8", "--layout", "nn,nt", "--source"]):
            told = self.run_command("show", cli_test.CONFIG, *words, "--arch", "sm_80", expect=1).stderr
            self.assertIn("give one problem only", told)
        self.assertIn("for 8 8 8 nn f16:", self.run_command("show", "naive", "--shape", "8x8x8").stdout)

    def test_an_import_alone_takes_no_options_of_problems(self):
        for words in (["--arch", "sm_80"], ["--layout", "nt"], ["--dtype", "bf16"], ["--acc", "f32"], ["--align", "16"],
                      ["--beta", "1"], ["--m-buckets", "1:8"], ["--candidates"], ["--shard", "0/2"], ["--report"],
                      ["--fail-on-miss"], ["--export", "copy.tar"]):
            told = self.run_command("prewarm", "--import", "k.tar", *words, expect=1).stderr
            self.assertEqual(told, f"hotgemm: {words[0]} with --import needs problems: --shape, --shapes or --from-db\n")

    def test_a_word_of_a_variable_that_is_not_known(self):
        show = ["show", "--shape", "8x8x8", "--arch", "sm_80", "--top", "1"]
        for word in ("0", "no", "OFF"):
            self.environment["HOTGEMM_SHIPPED_RECORDS"] = word
            self.assertEqual(self.run_command(*show, expect=1).stderr,
                             f"hotgemm: HOTGEMM_SHIPPED_RECORDS={word}: expected on or off\n")
        for word in ("on", "off", ""):
            self.environment["HOTGEMM_SHIPPED_RECORDS"] = word
            self.run_command(*show)

    def test_sizes_and_lists_that_make_no_sense(self):
        prewarm = ["prewarm", "--list"]
        for words, named in ((["--arch", "sm_80", "--shape", "0x64x64"], "m is 0, so D has no elements"),
                             (["--arch", "sm_80", "--shape", "64 0 64 nn f16"], "n is 0, so D has no elements"),
                             (["--arch", "sm_80", "--shape", "64x64x99999999999"], "the largest size is"),
                             (["--arch", "sm_80,80", "--shape", "8x8x8"], "--arch names sm_80 twice"),
                             (["--arch", "sm_80", "--shape", "64", "64", "64", "nn", "f16"], "stands in quotes")):
            self.assertIn(named, self.run_command(*prewarm, *words, expect=1).stderr)

    def test_a_cache_directory_that_is_not_there(self):
        for words in (["cache", "ls"], ["cache", "stat"], ["cache", "verify"], ["cache", "clear"], ["db", "show"],
                      ["db", "prune"], ["db", "digest"], ["db", "rejections"],
                      ["prewarm", "--verify", "--arch", "sm_80", "--shape", "8x8x8"]):
            done = self.run_command(*words, "--cache-dir", "absent", expect=3)
            self.assertEqual(done.stderr, "hotgemm: --cache-dir absent: there is no such directory\n", words)

    def test_no_driver(self):
        stderr = self.run_command("bench", "--shape", "8x8x8", expect=3).stderr
        self.assertTrue(stderr.startswith("hotgemm: no NVIDIA driver; in a container use --gpus all; "), stderr)

    def test_problems_as_others_write_them(self):
        prewarm = ["prewarm", "--arch", "sm_80", "--list"]

        def problems(*words):
            return [r["problem"] for r in self.run_json(*prewarm, *words)["results"]]
        right = ["64 64 64 nt bf16 align=16"]
        for words in (["--shape", "64X64X64", "--layout", "NT", "--dtype", "bfloat16"],
                      ["--shape", "64x64x64 NT BF16"], ["--shape", "64 64 64 nt BFloat16"]):
            self.assertEqual(problems(*words), right)
        for text in ("64x64x64 nt bf16", "\ufeff64 64 64 nt bf16\r\n", "64,64,64,NT,bfloat16", "64x64x64,nt,bf16",
                     "m, n, k, layout, dtype\n64, 64, 64, nt, bf16", '"64 64 64 nt bf16 align=16,16,16",',
                     "\ufefftype,layout,align,k,n,m\nbf16,nt,,64,64,64\n", "us,problem\n1.5,64 64 64 nt bf16\n"):
            (self.path / "s.csv").write_text(text, encoding="utf-8")
            self.assertEqual(problems("--shapes", "s.csv"), right, text)
        for text, named in (("m,n,k,layout\n64,64,64,nt\n", "s.csv:1: the header has no column named type"),
                            ("64,64,64,nt,bf16\n64,64,64,nt,f19\n", "s.csv:2"),
                            ("m,n,k,layout,type\n64,64,64,nt\n", "s.csv:2: 4 cells under 5 columns"),
                            ("m,n,k,layout,type,colour\n64,64,64,nt,f16,red\n", "s.csv:2: 'colour=red'")):
            (self.path / "s.csv").write_text(text)
            self.assertIn(named, self.run_command(*prewarm, "--shapes", "s.csv", expect=1).stderr)


class PageTest(cli_test.CliTest):
    def test_help_of_a_command_in_both_ways(self):
        for command in COMMANDS:
            words = command.split()
            page = self.run_command("help", *words).stdout
            self.assertEqual(page, self.run_command(*words, "--help").stdout)
            self.assertIn(f"Usage: hotgemm {command} ", page)
        self.assertEqual(self.run_command("help").stdout, self.run_command("--help").stdout)
        for words, usage in (("show", "[config]"), ("db diff", "first second"), ("db lint", "file...")):
            self.assertIn(f"Usage: hotgemm {words} [OPTIONS] {usage}\n",
                          self.run_command("help", *words.split()).stdout)

    def test_help_is_grouped_and_fits(self):
        for columns in (50, 80, 100):
            self.environment["COLUMNS"] = str(columns)
            for command in COMMANDS:
                lines = self.run_command("help", *command.split()).stdout.splitlines()
                for line in lines:
                    is_example = line.startswith("  hotgemm ")
                    has_one_word = len(line.split()) < 3  # an option with all that it may be
                    self.assertTrue(len(line) <= columns or is_example or has_one_word, line)
        page = self.run_command("help", "tune").stdout
        headings = re.findall(r"^(\S.*):$", page, re.MULTILINE)
        self.assertEqual([heading for heading in headings if heading != "Options"],
                         ["Problems", "Measuring", "GPUs and processes", "Records", "Report", "Common options", "Examples"])
        self.assertIn("-j, --jobs N", page)
        self.assertIn("--objective speed|energy", page)

    def test_examples_are_commands(self):
        (self.path / "shapes.txt").write_text("64 64 64 nt bf16\n")
        (self.path / "layer").mkdir()
        seen = set()
        for command in ("", "prewarm", "tune", "bench", "ladder", "show", "emulate", "cache", "db", "info"):
            page = self.run_command("help", *command.split()).stdout
            seen.update(line.strip() for line in page.split("\nExamples:\n")[1].splitlines() if line.startswith("  hotgemm"))
        self.assertGreater(len(seen), 15)
        for example in sorted(seen):
            words = shlex.split(example)[1:]
            if words[0] in ("ladder", "emulate", "prewarm"):  # they would compile or compute for seconds
                words += ["--log-level"]  # a value is missing: all else is right if that is the message
                self.assertIn("--log-level needs a value", self.run_command(*words, expect=1).stderr)
                continue
            done = subprocess.run([cli_test.COMMAND, *words], env=self.environment, capture_output=True, text=True,
                                  timeout=60, check=False, cwd=self.path)
            self.assertIn(done.returncode, (0, 3), f"{example}\n{done.stderr}")  # 3: no GPU

    def test_version_has_the_commit_the_compiler_and_the_driver(self):
        lines = self.run_command("-V").stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^hotgemm \d+\.\d+\.\d+$")
        self.assertRegex(lines[1], r"^commit  (unknown|[\w.-]+)$")
        self.assertRegex(lines[2], r"^NVRTC   (nvrtc-1\d|none: )")
        self.assertRegex(lines[3], r"^driver  none: no NVIDIA driver; in a container use --gpus all")
        if cli_test.STANDIN:
            self.environment["HOTGEMM_LIBCUDA"] = cli_test.STANDIN
            self.assertRegex(self.run_command("--version").stdout.splitlines()[3], r"CUDA \d+\.\d+, .*standin")

    def test_manual_pages(self):
        self.run_command("pages", "out")
        pages = sorted(path.stem for path in (self.path / "out/man").glob("*.1"))
        self.assertIn("hotgemm-cache-trim", pages)
        self.assertNotIn("hotgemm-worker", pages)
        for name in pages:
            page = (self.path / f"out/man/{name}.1").read_text()
            for section in ("NAME", "SYNOPSIS", "OPTIONS", "NOTES", "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", page)
        tune = (self.path / "out/man/hotgemm-tune.1").read_text()
        for option in re.findall(r"--[a-z-]+", self.run_command("help", "tune").stdout.split("Examples:")[0]):
            self.assertIn(option.replace("-", "\\-"), tune)
        for program in ("man", "groff"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        # Images of Ubuntu have a `man` that only says that the system has been minimized.
        version = subprocess.run(["man", "--version"], capture_output=True, text=True, check=False).stdout
        if not version.startswith("man "):
            self.skipTest(f"man shows no pages: {version}")
        for name in ("hotgemm", "hotgemm-tune"):
            done = subprocess.run(["man", "--warnings", "-l", "-Tutf8", f"out/man/{name}.1"], capture_output=True,
                                  text=True, check=False, cwd=self.path, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            self.assertEqual(done.stderr, "")
            text = re.sub(".\b", "", done.stdout)  # bold letters are struck twice
            self.assertIn("--cache-dir" if name != "hotgemm" else "prewarm", text)


class CompletionTest(cli_test.CliTest):
    CASES = (("", "prewarm"), ("tu", "tune"), ("tune --obj", "--objective"), ("tune --objective ", "energy"),
             ("cache ", "trim"), ("cache trim --max", "--max-size"), ("bench --layout ", "tn"),
             ("prewarm --arch sm_9", "sm_90a"), ("completion ", "fish"), ("help ", "tune"), ("db lint rec", "records.jsonl"),
             ("tune --trace rec", "records.jsonl"))

    def setUp(self):
        super().setUp()
        (self.path / "records.jsonl").write_text("")

    def script(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed")
        file = self.path / f"hotgemm.{shell}"
        file.write_text(self.run_command("completion", shell).stdout)
        return file

    def ask(self, *words, text_in=None):
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=self.path, input=text_in, timeout=60,
                              env={**os.environ, "HOME": str(self.path), "TERM": "dumb"}).stdout

    def test_bash(self):
        file = self.script("bash")
        for line, expected in (*self.CASES, ("tune --objective=en", "energy")):
            # Readline gives "=" a word of its own.
            words = ["hotgemm", *re.sub("=", " = ", line).split()]
            if line.endswith(" ") or not line:
                words.append("")
            found = self.ask("bash", "--norc", "-c", f"source {file}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
                             f"COMP_CWORD={len(words) - 1}; _hotgemm 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"").splitlines()
            self.assertIn(expected, found, line)
        self.assertNotIn("worker", found)

    def test_fish(self):
        file = self.script("fish")
        for line, expected in self.CASES:
            found = self.ask("fish", "--no-config", "-c", f"source {file}; complete -C {shlex.quote('hotgemm ' + line)}")
            self.assertIn(expected, [row.split("\t")[0] for row in found.splitlines()], line)

    def test_zsh(self):
        file = self.script("zsh")
        self.ask("zsh", "-f", "-n", str(file))
        # A terminal of zsh's own, in which Tab is pressed. zpty waits until it shows what is expected.
        for line, expected in (("pre", "prewarm"), ("tune --obj", "--objective"), ("tune --objective en", "energy"),
                               ("cache tr", "trim"), ("prewarm --arch sm_9", "sm_90a"), ("db lint rec", "records.jsonl")):
            program = f"""
                zmodload zsh/zpty
                zpty shell 'PS1=; zsh -f -i'
                zpty -w shell 'autoload -Uz compinit; compinit -u -D; source {file}; print READ""Y'
                zpty -r -m shell seen '*READY*'
                zpty -w -n shell $'hotgemm {line}\\t'
                zpty -r -m shell seen '*{expected}*'
                print -r -- "$seen"
            """
            self.assertIn(expected, self.ask("zsh", "-f", "-c", program), line)


class ProgressTest(cli_test.CliTest):
    WORDS = ["prewarm", "--verify", "--arch", "sm_80", "--shape", "64x64x64", "--layout", "nn,nt"]

    def run_in_terminal(self, columns, term):
        """stderr of the command in a terminal of so many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([cli_test.COMMAND, *self.WORDS], stdout=subprocess.DEVNULL, stderr=slave, cwd=self.path,
                              env={**self.environment, "TERM": term}) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    block = os.read(master, 4096)
                except OSError:  # Linux's way to say that nobody can write any more
                    break
                if not block:
                    break
                text += block
        os.close(master)
        self.assertEqual(process.returncode, 3)
        return text.decode()

    def test_a_bar_with_the_total_and_the_current_kernel(self):
        text = self.run_in_terminal(100, "xterm")
        self.assertRegex(text, r"\r\x1b\[Kverify \[#{15}\.{15}\] 1/2, hotgemm_\w+")

    def test_a_narrow_terminal_has_no_bar_and_no_line_that_wraps(self):
        text = self.run_in_terminal(40, "xterm")
        bars = re.findall(r"\r\x1b\[K(verify [^\r]*)", text)
        self.assertEqual(len(bars), 2)
        self.assertRegex(bars[0], r"^verify 1/2, hotgemm_")
        self.assertEqual([len(bar) for bar in bars], [39, len("verify 2/2")])

    def test_a_dumb_terminal_and_a_file_get_plain_lines(self):
        text = self.run_in_terminal(100, "dumb")
        self.assertNotIn("\x1b", text)
        self.assertIn("verify: 2/2\r\n", text)
        self.assertIn("verify: 2/2\n", self.run_command(*self.WORDS, expect=3).stderr)


if __name__ == "__main__":
    sys.exit(cli_test.main())
