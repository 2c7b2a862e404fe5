#!/usr/bin/env python3
"""Losses and false claims of the command: files that it would replace, records that it could not store, signals."""

import contextlib
import fcntl
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tarfile
import time
import zlib

import cli_test

RECORDS = pathlib.Path(__file__).resolve().parents[2] / "cache/nvidia-h200.jsonl"
PREWARM = ("prewarm", "--arch", "sm_90a", "--shape", "64x64x64", "-q")


class LossTest(cli_test.CliTest):
    def write_records(self, name, first, count):
        """A file with some of the records that ship."""
        with RECORDS.open(encoding="utf-8") as lines:
            chosen = [line for line, _ in zip(lines, range(first + count))][first:]
        (self.path / name).write_text("".join(chosen), encoding="utf-8")
        return chosen

    def refused(self, *words):
        return self.run_command(*words, expect=1).stderr

    # ---- files of records ----

    def test_merge_keeps_the_records_of_its_output(self):
        self.write_records("a.jsonl", 0, 3)
        self.write_records("b.jsonl", 3, 2)
        self.assertEqual(self.run_json("db", "merge", "a.jsonl", "b.jsonl")["kept"], 5)
        self.assertEqual(len((self.path / "a.jsonl").read_text().splitlines()), 5)

    def test_merge_replaces_no_file_by_nothing_and_no_file_of_something_else(self):
        kept = self.write_records("a.jsonl", 0, 3)
        (self.path / "notes.txt").write_text("no record\n")
        self.assertIn("no line of the inputs is a record, of 1", self.refused("db", "merge", "a.jsonl", "notes.txt"))
        self.assertIn("notes.txt has lines that are not records", self.refused("db", "merge", "notes.txt", "a.jsonl"))
        self.assertEqual((self.path / "a.jsonl").read_text(), "".join(kept))
        self.assertIn("notes.txt has lines that are not records", self.refused("db", "merge", "notes.txt", "notes.txt", "a.jsonl"))
        self.assertEqual((self.path / "notes.txt").read_text(), "no record\n")
        (self.path / "a.jsonl").chmod(0o600)
        self.run_command("db", "merge", "a.jsonl", "a.jsonl", ".")
        self.assertEqual((self.path / "a.jsonl").stat().st_mode & 0o777, 0o600)

    def test_prune_keeps_what_another_version_may_use(self):
        directory = self.path / "cache" / "v1" / "db"
        directory.mkdir(parents=True)
        for part in (self.path / "cache", self.path / "cache" / "v1", directory):
            part.chmod(0o700)
        line, other = self.write_records("a.jsonl", 0, 2)
        body = line[:line.rindex(',"crc"')] + ',"later":1'
        newer = f'{body},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'
        (directory / "x.jsonl").write_text(newer + other + line.replace("H200", "H900"))
        said = self.run_command("db", "prune").stdout
        self.assertEqual(said, "2 records kept; dropped: 0 stale, 0 slower than another, 1 unusable\n")
        self.assertEqual("".join(file.read_text() for file in directory.iterdir()), newer + other)

    def test_merges_at_once_lose_no_record(self):
        parts = [f"p{i}.jsonl" for i in range(6)]
        for i, part in enumerate(parts):
            self.write_records(part, 200 * i, 200)
        self.run_command("db", "merge", "all.jsonl", *parts)
        running = [subprocess.Popen([cli_test.COMMAND, "db", "merge", "acc.jsonl", part], env=self.environment,
                                    cwd=self.path, stdout=subprocess.DEVNULL) for part in parts]
        self.assertEqual([process.wait(timeout=120) for process in running], [0] * len(parts))
        self.assertEqual((self.path / "acc.jsonl").read_text(), (self.path / "all.jsonl").read_text())

    def test_a_file_is_replaced_by_one_process_at_a_time_and_keeps_its_mode(self):
        for command in (["merge", "a.jsonl", "b.jsonl"], ["refresh", "a.jsonl"]):
            for name in ("a.jsonl", "b.jsonl"):
                self.write_records(name, 0, 2)
            (self.path / "a.jsonl").chmod(0o664)
            with self.subTest(command), contextlib.ExitStack() as lock:
                fd = os.open(self.path, os.O_RDONLY)
                lock.callback(os.close, fd)
                fcntl.flock(fd, fcntl.LOCK_EX)
                process = subprocess.Popen([cli_test.COMMAND, "db", *command], env=self.environment, cwd=self.path,
                                           umask=0o077, stdout=subprocess.DEVNULL)
                time.sleep(1.5)
                waits = process.poll() is None
                others = self.write_records("a.jsonl", 2, 2)
                lock.close()
                self.assertIn(process.wait(timeout=120), (0, 2))  # 2: records of other templates
                self.assertTrue(waits)
                self.assertEqual((self.path / "a.jsonl").stat().st_mode & 0o777, 0o664)
                text = (self.path / "a.jsonl").read_text()
                for line in others:
                    self.assertIn(line.partition(',"templates"')[0], text)

    def test_files_without_a_record_are_no_success(self):
        self.write_records("a.jsonl", 0, 1)
        (self.path / "crlf.jsonl").write_text((self.path / "a.jsonl").read_text().replace("\n", "\r\n"))
        before = (self.path / "crlf.jsonl").read_bytes()
        self.assertIn("no line of crlf.jsonl is a record", self.refused("db", "refresh", "crlf.jsonl"))
        self.assertEqual((self.path / "crlf.jsonl").read_bytes(), before)
        self.assertIn("no line of crlf.jsonl is a record, of 1", self.refused("db", "diff", "a.jsonl", "crlf.jsonl"))
        self.assertIn("cannot read nowhere: No such file", self.refused("db", "refresh", "nowhere"))

    def test_a_link_is_followed_and_what_is_no_file_is_refused(self):
        self.need_nvrtc()
        os.mkfifo(self.path / "pipe")
        self.write_records("a.jsonl", 0, 1)
        for words in ((*PREWARM, "--export", "pipe"), ("db", "merge", "pipe", "a.jsonl")):
            self.assertIn("pipe is not a regular file", self.refused(*words))
        self.assertTrue((self.path / "pipe").is_fifo())
        self.assertIn("needs a name; - is none", self.refused(*PREWARM, "--export", "-"))
        (self.path / "loop").symlink_to("loop")
        (self.path / "dangling").symlink_to("nowhere")
        for name in ("loop", "dangling"):
            self.assertIn(f"{name} is a link to nothing", self.refused("db", "merge", name, "a.jsonl"))
            self.assertTrue((self.path / name).is_symlink())
        (self.path / "link.tar").symlink_to("target.tar")
        (self.path / "target.tar").touch()
        self.run_command(*PREWARM, "--export", "link.tar")
        self.assertTrue((self.path / "link.tar").is_symlink())
        self.assertGreater((self.path / "target.tar").stat().st_size, 0)

    # ---- what could not be stored ----

    def test_tune_says_what_it_did_not_store(self):
        options = self.use_standin()
        for mode in ("ro", "off"):
            self.environment["HOTGEMM_CACHE"] = mode
            done = self.run_json("tune", "--shape", "64x64x64", *options, expect=3)
            self.assertEqual((done["not_stored"], done["ended"]), (1, "complete"))
            self.assertIn("HOTGEMM_CACHE", done["store_failure"])
        del self.environment["HOTGEMM_CACHE"]
        self.environment["HOTGEMM_CACHE_DIR"] = "/proc"
        self.assertIn("1 record not stored: cannot", self.run_command("tune", "--shape", "64x64x64", *options, expect=3).stderr)

    def test_a_trace_that_is_cut_off_is_no_success(self):
        options = self.use_standin()
        done = self.run_command("tune", "--shape", "64x64x64", "--trace", "/dev/full", *options, expect=3)
        self.assertIn("the trace /dev/full is not complete", done.stderr)
        self.assertEqual(self.run_json("tune", "--shape", "64x64x64", *options)["not_stored"], 0)

    def test_a_full_disk_behind_stdout_is_an_error_of_the_environment(self):
        for words in (["info"], ["info", "--json"], ["completion", "bash"], ["help", "tune"], ["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([cli_test.COMMAND, *words], env=self.environment, stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False, cwd=self.path)
            self.assertEqual((done.returncode, done.stderr), (3, "hotgemm: cannot write to stdout\n"), words)

    def test_messages_that_nobody_can_read_cost_nothing(self):
        options = self.use_standin()
        for stderr in ("2>/dev/full", "2>&-", "<&- 2>&-"):
            words = ["tune", "--shape", "8x8x8,8x16x8", "--retune", "--trace", "t.jsonl", "--json", *options]
            with self.subTest(stderr):
                done = subprocess.run(["bash", "-c", f'exec "$@" {stderr}', "bash", cli_test.COMMAND, *words],
                                      env=self.environment, stdout=subprocess.PIPE, text=True, timeout=120, check=False,
                                      cwd=self.path)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(len(json.loads(done.stdout)["results"]), 2)
                for file in (self.path / "t.jsonl", *(self.path / "cache").rglob("*.jsonl")):
                    for line in file.read_text().splitlines():
                        json.loads(line)
                (self.path / "t.jsonl").unlink()

    def test_records_that_cannot_be_read_are_no_empty_database(self):
        self.run_command("db", "show")
        directory = self.path / "cache" / "v1" / "db"
        directory.mkdir(parents=True, exist_ok=True)
        for path in (self.path / "cache", self.path / "cache" / "v1", directory):
            path.chmod(0o700)
        directory.chmod(0o777)  # others may write there
        self.assertEqual(self.run_json("db", "show", expect=3)["left_out"], 1)

    def test_a_cubin_that_does_not_fit_leaves_no_file(self):
        self.need_nvrtc()

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

        words = [cli_test.COMMAND, "show", cli_test.CONFIG, "--cubin", "k.cubin", "--arch", "sm_80"]
        self.environment["HOTGEMM_CACHE"] = "off"
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False, cwd=self.path,
                              preexec_fn=limit_files)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cannot write k.cubin: File too large", done.stderr)
        self.assertFalse((self.path / "k.cubin").exists())

    def test_a_relative_directory_is_told_once(self):
        self.environment["HOTGEMM_CACHE_DIR"] = "somewhere"
        told = self.run_command("info").stderr
        self.assertEqual(told.count("HOTGEMM_CACHE_DIR: ignored 'somewhere', which is not an absolute path"), 1, told)

    # ---- what was asked for ----

    def test_an_unused_function_is_told(self):
        self.need_nvrtc()
        (self.path / "one.txt").write_text("value + 1.0f\n")
        (self.path / "two.txt").write_text("\ufeffvalue + 2.0f\n", encoding="utf-8")
        told = self.run_command(*PREWARM, "--epilogue", "one.txt", "--epilogue", "two.txt").stderr
        for name in ("one.txt", "two.txt"):
            self.assertRegex(told, f"no problem of --shape and --shapes names the function of {name}: epilogue=function:")
        self.assertEqual(self.run_command(*PREWARM, "--epilogue", "one.txt").stderr, "")
        self.assertIn("--epilogue: cannot read .: Is a directory", self.refused(*PREWARM, "--epilogue", "."))

    def test_a_line_that_asks_for_too_much_is_named(self):
        for line, message in (("64 64 64 nn f16 groups=0", "f.txt:2: groups is 0, and group_kind rows"),
                              ("0 64 64 nn f16", "f.txt:2: 0 64 64 nn f16: m is 0"),
                              ("64 64 64 nn f16 sms=70000", "f.txt:2: sm_limit is 70000")):
            (self.path / "f.txt").write_text(f"64 64 64 nn f16\n{line}\n")
            self.assertIn(message, self.refused("prewarm", "--list", "--arch", "sm_90a", "--shapes", "f.txt"))
        (self.path / "f.csv").write_text("m,n,k,layout,type,m\n64,64,64,nn,f16,32\n")
        self.assertIn("f.csv:1: a second column is named m",
                      self.refused("prewarm", "--list", "--arch", "sm_90a", "--shapes", "f.csv"))

    # ---- signals ----

    def test_a_signal_while_input_is_read_ends_the_command(self):
        os.mkfifo(self.path / "pipe")
        for command in ("tune", "bench"):
            with subprocess.Popen([cli_test.COMMAND, command, "--shapes", "pipe"], env=self.environment, cwd=self.path) as process:
                pipe = None
                while pipe is None and process.poll() is None:
                    try:
                        pipe = os.open(self.path / "pipe", os.O_WRONLY | os.O_NONBLOCK)  # works once the command reads
                    except OSError:
                        time.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)
                os.close(pipe)

    def test_a_signal_at_the_beginning_of_a_compilation_keeps_what_is_done(self):
        """NVRTC has handlers of its own, which end the program with status 4."""
        self.need_nvrtc()
        self.environment["HOTGEMM_CACHE"] = "off"
        words = ["prewarm", "--arch", "sm_90a", "--shape", "128x128x128", "--jobs", "1", "--json", "-q"]
        kept = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            for milliseconds in range(15, 240, 15):
                with subprocess.Popen([cli_test.COMMAND, *words], env=self.environment, stdout=subprocess.PIPE, cwd=self.path) as process:
                    time.sleep(milliseconds / 1000)
                    process.send_signal(number)
                    output = process.communicate(timeout=120)[0]
                early = process.returncode == -number and output == b""  # before the command watches
                self.assertTrue(early or process.returncode in (3, 130), (number, milliseconds, process.returncode))
                kept += process.returncode == 130
        self.assertGreater(kept, 0)

    def test_a_signal_ends_the_choice_of_kernels(self):
        """It takes long for so many problems, and nothing is compiled meanwhile."""
        shapes = ",".join(f"64x{n}x{k}" for n in range(64, 2112, 64) for k in (64, 512, 4096))
        words = ["prewarm", "--arch", "sm_90a", "--shape", shapes, "--m-buckets", "1:8192", "--verify"]
        with subprocess.Popen([cli_test.COMMAND, *words], env=self.environment, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - start, 8)


class UnusableTest(cli_test.CliTest):
    """What a command cannot use or store is named, and is no success where the command promised it."""

    def failed(self, *words):
        return self.run_command(*words, expect=3).stderr

    def damage(self, *entries):
        for entry in entries:
            data = bytearray(entry.read_bytes())
            data[-100] ^= 1
            entry.write_bytes(data)

    # ---- layers ----

    def layer_with(self, text, mode=0o644):
        file = self.path / "layer" / "records.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def test_records_of_a_layer_count_whatever_their_modes(self):
        self.need_nvrtc()
        with RECORDS.open(encoding="utf-8") as lines:
            record = next(line for line in lines if line.startswith('{"class":"1 12288 4096 nt bf16 '))
        file = self.layer_with(record, mode=0o664)
        file.parent.chmod(0o775)
        words = ["prewarm", "--arch", "sm_90a", "--shape", "1 12288 4096 nt bf16", "--layer", "layer", "--jobs", "1"]
        output = self.run_json(*words)
        self.assertEqual([entry["origin"] for entry in output["results"]], ["tuned"])
        self.assertEqual((file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777), (0o755, 0o644))

    def test_a_layer_with_records_that_do_not_count_is_not_usable(self):
        with RECORDS.open(encoding="utf-8") as lines:
            record = next(lines)
        words = [*PREWARM, "--layer", "layer"]
        for text in ("garbage\n", record + "garbage\n", record[:-2] + "\n", record[:len(record) // 2]):
            file = self.layer_with(text)
            line = 2 if text.startswith(record) else 1
            self.assertIn(f"the layer {file.parent} is not usable: {file}:{line} is no record: ", self.failed(*words))
        file.unlink()
        file.symlink_to(RECORDS)
        self.assertIn(f"cannot read {file}: it is a symbolic link", self.failed(*words))
        if os.geteuid() == 0:
            file.unlink()
            os.chown(self.layer_with(record), 12345, 12345)
            self.assertIn(f"{file} is left out: it belongs to user 12345", self.failed(*words))
        self.assertEqual(list((self.path / "layer").rglob("*.hgk")), [])

    def test_a_layer_that_is_not_there_is_noted(self):
        (self.path / "there").mkdir()
        absent = self.path / "absent"
        self.environment["HOTGEMM_CACHE_PATH"] = f"{absent}:{self.path / 'there'}"
        for command in ("ls", "stat", "verify"):
            self.assertEqual(self.run_command("cache", command).stderr,
                             f"hotgemm: the layer {absent} is not used: there is no such directory\n")
        self.assertEqual(len(self.run_json("cache", "stat")["layers"]), 2)
        lines = self.run_command("info").stdout.splitlines()
        self.assertTrue(any(line.endswith(f"read-only layer {absent}: there is no such directory") for line in lines))
        self.assertTrue(any(line.endswith(f"read-only layer {self.path / 'there'}") for line in lines))

    def test_a_link_to_a_directory_is_called_a_link(self):
        (self.path / "there").mkdir(mode=0o700)
        link = self.path / "link"
        link.symlink_to("there")
        message = f"{link} is a symbolic link, and hotgemm follows none"
        self.assertIn(f"hotgemm: {message}\n", self.failed("cache", "ls", "--cache-dir", "link"))
        self.assertIn(f"the records in {link}: it is a symbolic link", self.failed("db", "show", "--cache-dir", "link"))
        self.environment["HOTGEMM_CACHE_PATH"] = str(link)
        self.assertIn(message, self.run_command("cache", "verify", expect=2).stderr)

    def test_a_kernel_that_is_damaged_is_told_where_kernels_are_looked_up(self):
        self.need_nvrtc()
        self.run_command(*PREWARM, "--layout", "nn,nt")
        entries = sorted((self.path / "cache").rglob("*.hgk"))
        self.damage(entries[0])
        done = self.run_command("cache", "ls")
        self.assertIn(entries[1].name[:12], done.stdout)
        self.assertEqual(done.stderr, "hotgemm: 1 file is not usable; `hotgemm cache verify` names it\n")
        self.damage(entries[1])
        done = self.run_command("cache", "ls")
        self.assertEqual(done.stdout, "no kernel in the cache is usable\n")
        self.assertEqual(done.stderr, "hotgemm: 2 files are not usable; `hotgemm cache verify` names them\n")
        told = self.failed("cache", "extract", entries[0].name[:16], "k.cubin")
        self.assertIn(f"is not usable: {entries[0]}: ", told)

    # ---- bundles ----

    def test_an_import_that_stores_nothing_does_not_say_imported(self):
        self.need_nvrtc()
        self.run_command(*PREWARM, "--export", "k.tar")
        self.environment["HOTGEMM_CACHE"] = "ro"
        said = self.run_command("prewarm", "--import", "k.tar").stdout
        self.assertIn("in the cache already, and nothing is stored (HOTGEMM_CACHE=ro)", said)
        self.assertNotIn("imported", said)
        self.assertEqual(self.run_json("prewarm", "--import", "k.tar")["imported"], {})

    def test_an_export_follows_no_link_that_was_planted_for_its_temporary_file(self):
        self.need_nvrtc()
        (self.path / "victim").write_bytes(b"mine")
        script = 'ln -s victim k.tar.$$.tmp; exec "$@"'  # exec keeps the process id
        subprocess.run(["sh", "-c", script, "sh", cli_test.COMMAND, *PREWARM, "--export", "k.tar"], check=True,
                       env=self.environment, cwd=self.path, stdout=subprocess.DEVNULL)
        self.assertEqual((self.path / "victim").read_bytes(), b"mine")
        self.assertFalse((self.path / "k.tar").is_symlink())
        self.assertEqual(sum(name.name.startswith("k.tar") for name in self.path.iterdir()), 2, "no file is left")

    def test_what_is_no_bundle_is_called_what_it_is(self):
        os.mkfifo(self.path / "pipe")
        (self.path / "short.txt").write_text("no archive\n")
        (self.path / "long.txt").write_text("no archive\n" * 100)
        for name, reason in ((".", "it is a directory"), ("pipe", "it is not a regular file"),
                             ("short.txt", "it is no tar archive"), ("long.txt", "it is no tar archive")):
            self.assertIn(f"read the archive {name}: {reason}", self.failed("prewarm", "--import", name))

    def test_a_bundle_without_kernels_imports_none(self):
        manifest = b'{"bundle": 1, "kernels": []}'
        with tarfile.open(self.path / "none.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            member = tarfile.TarInfo("manifest.json")
            member.size = len(manifest)
            archive.addfile(member, io.BytesIO(manifest))
        self.assertEqual(self.run_command("prewarm", "--import", "none.tar").stdout,
                         "0 kernels imported from none.tar\n")

    def test_a_bundle_that_cannot_be_written_is_found_before_kernels_are_compiled(self):
        (self.path / "file").write_text("")
        for name, reason in (("absent/k.tar", "No such file or directory"), ("file/k.tar", "Not a directory")):
            self.assertEqual(self.failed(*PREWARM, "--export", name), f"hotgemm: cannot write {name}: {reason}\n")
        self.assertEqual(list((self.path / "cache").rglob("*.hgk")), [])

    # ---- caches that may not be changed ----

    def test_what_may_not_be_removed_is_named_with_the_reason(self):
        for mode in ("ro", "off"):
            self.environment["HOTGEMM_CACHE"] = mode
            reason = (f"nothing is removed from {self.path / 'cache'}, because the mode of the cache is {mode} "
                      "(HOTGEMM_CACHE)\n")
            for words, start in ((["cache", "clear"], "clear: "), (["cache", "trim", "--max-size", "1"], "trim: "),
                                 (["db", "prune"], ""), (["db", "rejections", "--clear"], "")):
                self.assertEqual(self.failed(*words), f"hotgemm: {start}{reason}")


if __name__ == "__main__":
    sys.exit(cli_test.main())
