#!/usr/bin/env python3
"""Runs `hotgemm prewarm` as an image build does: what it promises, and what it says when it cannot keep it."""

import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import cli_test

WORDS = ["prewarm", "--arch", "sm_80", "--shape", "64x64x64", "--layout", "nn,nt", "--jobs", "1"]


def kernels_in(directory):
    return sorted(pathlib.Path(directory).rglob("*.hgk"))


class PrewarmCase(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        self.need_nvrtc()

    def damage(self, entry):
        data = bytearray(entry.read_bytes())
        data[-100] ^= 1
        entry.write_bytes(data)


class StoreTest(PrewarmCase):
    """A kernel that lies on no disk is no prewarmed kernel: exit code 3, and the directory is named."""

    def expect_not_stored(self, *reasons, words=WORDS):
        done = self.run_command(*words, "--json", expect=3)
        output = json.loads(done.stdout)
        self.assertEqual((output["compiled"], output["failed"], output["stored"]), (2, 0, 0))
        for reason in reasons:
            self.assertIn(reason, done.stderr)
            self.assertIn(reason, output["store_failure"])
        self.assertIn(f"2 NOT STORED in {output['directory']}", self.run_command(*words, expect=3).stdout)

    def test_a_full_report(self):
        output = self.run_json(*WORDS)
        expected = {"compiled": 2, "cached": 0, "failed": 0, "stored": 2, "not_started": 0, "interrupted": False}
        self.assertEqual({name: output[name] for name in expected}, expected)
        self.assertNotIn("store_failure", output)
        self.assertEqual(len(kernels_in(output["directory"])), 2)
        again = self.run_json(*WORDS)
        self.assertEqual((again["compiled"], again["cached"], again["stored"]), (0, 2, 2))

    def test_progress_is_of_all_architectures(self):
        done = self.run_command("prewarm", "--arch", "sm_80,sm_90a", *WORDS[3:])
        self.assertIn("compile: 4/4\n", done.stderr)
        self.assertNotIn("2/2", done.stderr)

    def test_cache_off(self):
        self.environment["HOTGEMM_CACHE"] = "off"
        self.expect_not_stored(str(self.path / "cache"), "HOTGEMM_CACHE", "off")

    def test_cache_read_only(self):
        self.environment["HOTGEMM_CACHE"] = "ro"
        self.expect_not_stored(str(self.path / "cache"), "HOTGEMM_CACHE", "ro")

    def test_others_may_write_to_the_directory(self):
        (self.path / "cache").mkdir()
        (self.path / "cache").chmod(0o777)
        self.expect_not_stored(str(self.path / "cache"), "0777")

    def test_a_file_is_in_the_way(self):
        (self.path / "cache").write_text("")
        self.expect_not_stored(str(self.path / "cache"), "Not a directory")
        self.expect_not_stored(str(self.path / "cache" / "x"), words=[*WORDS, "--cache-dir", "cache/x"])

    def test_a_foreign_owner(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a directory of another user")
        (self.path / "cache").mkdir()
        os.chown(self.path / "cache", 12345, 12345)
        self.expect_not_stored(str(self.path / "cache"), "12345")

    def test_a_full_disk(self):
        """A file may have no more than 4 KiB, as on a disk on which so much is free."""
        limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", cli_test.COMMAND, *WORDS]
        done = subprocess.run(limited, env=self.environment, capture_output=True, text=True, timeout=300, check=False,
                              cwd=self.path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("NOT STORED", done.stdout)
        self.assertIn(str(self.path / "cache"), done.stderr)

    def test_a_size_limit_that_removes_what_was_stored(self):
        self.environment["HOTGEMM_CACHE_MAX_SIZE"] = "20K"
        done = self.run_command(*WORDS, expect=3)
        self.assertIn("HOTGEMM_CACHE_MAX_SIZE", done.stderr)

    def test_a_failed_problem_beside(self):
        done = self.run_command("prewarm", "--arch", "sm_75,sm_80", "--shape", "64x64x64", "--acc", "f16", expect=2)
        self.assertIn("1 failed", done.stdout)
        self.environment["HOTGEMM_CACHE"] = "off"
        self.run_command("prewarm", "--arch", "sm_75,sm_80", "--shape", "64x64x64", "--acc", "f16", expect=3)


class VerifyTest(PrewarmCase):
    def test_verify_compiles_nothing_and_misses_nothing(self):
        missing = self.run_json(*WORDS, "--verify", expect=3)
        self.assertEqual((missing["cached"], missing["failed"], missing["compiled"]), (0, 2, 0))
        self.assertFalse((self.path / "cache").exists())
        self.run_command(*WORDS)
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
        self.assertEqual(self.run_json(*WORDS, "--verify")["cached"], 2)
        entry = kernels_in(self.path / "cache")[0]
        self.damage(entry)
        done = self.run_command(*WORDS, "--verify", expect=3)
        self.assertIn("1 kernels are in the cache and whole, 1 are missing", done.stdout)
        self.assertIn("not in the cache", done.stderr)
        self.assertTrue(entry.exists(), "verifying changes nothing")

    def test_verify_needs_the_disk(self):
        self.run_command(*WORDS)
        self.environment["HOTGEMM_CACHE"] = "off"
        self.run_command(*WORDS, "--verify", expect=3)
        self.environment["HOTGEMM_CACHE"] = "ro"
        self.run_command(*WORDS, "--verify")

    def test_a_problem_without_a_kernel_is_not_missing(self):
        words = ["prewarm", "--arch", "sm_75", "--shape", "64x64x64", "--acc", "f16", "--verify"]
        self.assertIn("0 are missing", self.run_command(*words, expect=2).stdout)

    def test_a_problem_that_is_too_large_is_listed_with_the_reason(self):
        words = ["prewarm", "--arch", "sm_90a", "--shape", "500000000x500000000x64,64x64x64", "--list"]
        first, second = self.run_json(*words, expect=2)["results"]
        self.assertIn("too large", first["failure"])
        self.assertNotIn("failure", second)

    def test_a_problem_that_prewarm_refuses_is_listed_with_the_reason(self):
        words = ["prewarm", "--arch", "sm_80", "--shape", "64 64 64 nn f16 epilogue=function:" + self.unknown_function(),
                 "--shape", "64 64 64 nn f16"]
        listed = self.run_json(*words, "--list", expect=2)
        verified = self.run_json(*words, "--verify", expect=3)
        reasons = [entry["failure"] for entry in listed["results"] if "failure" in entry]
        self.assertEqual(reasons, [entry["failure"] for entry in verified["results"]][:1])
        self.assertIn("is not known", reasons[0])
        self.assertEqual(listed["to_compile"], 1)

    def test_a_small_gpu_may_have_no_more_sms_than_the_limit(self):
        """On a larger one a kernel without that limit would have too many blocks."""
        words = ["prewarm", "--arch", "sm_90a", "--shape", "4096 4096 512 nn f32 sms=114"]
        listed = self.run_json(*words, "--list")
        verified = self.run_json(*words, "--verify", expect=3)
        self.assertEqual([e["config"] for e in verified["results"]], [e["config"] for e in listed["results"]])

    def test_all_that_tuning_compiles_is_listed(self):
        for problem in ("4096 4096 4096 nn bf16", "1001 999 1003 nn bf16"):
            words = ["prewarm", "--arch", "sm_90a", "--candidates", "--shape", problem]
            listed = self.run_json(*words, "--list")
            self.assertEqual(self.run_json(*words, "--verify", expect=3)["failed"], listed["to_compile"])
            self.assertEqual([e["config"] for e in listed["results"]].count("check"), 1)

    def unknown_function(self):
        source = self.path / "twice.txt"
        source.write_text("2 * value\n")
        shown = self.run_json("show", "--epilogue", str(source), "--shape", "64x64x64", "--arch", "sm_80")
        return shown["results"][0]["problem"].split("function:")[1].split()[0]

    def test_the_kernel_for_launches_without_workspace_is_listed_too(self):
        words = ["prewarm", "--arch", "sm_90a", "--shape", "64 64 4096 nn f16"]
        listed = self.run_json(*words, "--list")
        self.assertEqual([entry["origin"] for entry in listed["results"]], ["estimated", "without workspace"])
        done = self.run_json(*words, "--jobs", "1")
        self.assertEqual((done["compiled"], listed["to_compile"]), (2, 2))
        self.assertEqual([e["config"] for e in done["results"]], [e["config"] for e in listed["results"]])

    def test_fail_on_miss(self):
        self.run_command(*WORDS, "--list", "--fail-on-miss", expect=3)
        self.assertEqual(self.run_json(*WORDS, "--fail-on-miss", expect=3)["stored"], 2)
        self.run_command(*WORDS, "--fail-on-miss")
        self.run_command(*WORDS, "--list", "--fail-on-miss")


class SelectionTest(PrewarmCase):
    def problems(self, *words, expect=0):
        entries = self.run_json("prewarm", *words, "--list", expect=expect)["results"]
        return [" ".join(entry["problem"].split()[:5]) + " " + entry["arch"] for entry in entries]

    def test_ranges_of_m(self):
        expected = [f"{m} 64 64 nt f16 sm_80" for m in (1, 2, 4, 8, 16, 20)]
        words = ["--arch", "sm_80", "--layout", "nt"]
        self.assertEqual(self.problems(*words, "--shape", "1:20x64x64"), expected)
        self.assertEqual(self.problems(*words, "--shape", "5x64x64,7x64x64", "--m-buckets", "1:20"), expected)
        self.assertEqual(self.problems("--arch", "sm_80", "--shape", "1:20 64 64 nt f16"), expected)
        (self.path / "s.txt").write_text("1:20 64 64 nt f16\n")
        self.assertEqual(self.problems("--arch", "sm_80", "--shapes", "s.txt"), expected)
        self.assertEqual(self.problems(*words, "--shape", "9x64x64", "--m-buckets", "1:20", "--beta", "1"), expected)

    def test_bad_words(self):
        words = ["prewarm", "--arch", "sm_80"]
        for more, named in ((["--shape", "9:1x64x64"], "9:1"), (["--shape", "1x64x64", "--m-buckets", "0:4"], "0:4"),
                            (["--from-db"], "record"), (["--shape", "1x64x64", "--list", "--verify"], "--list")):
            with self.subTest(more=more):
                self.assertIn(named, self.run_command(*words, *more, expect=1).stderr)
        self.assertIn("--arch", self.run_command("prewarm", "--shape", "1x64x64", expect=1).stderr)

    def tune(self, shape, *words):
        self.run_command("tune", "--shape", shape, *self.use_standin(), "--rounds", "2", *words)
        self.environment["HOTGEMM_LIBCUDA"] = "/nonexistent/libcuda.so"

    def test_classes_of_the_records_of_all_layers(self):
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm_=speed:1000"
        self.tune("8x8x8")
        self.tune("8x16x8", "--cache-dir", "lower")
        shutil.rmtree(self.path / "lower" / "v1" / "cubin")
        self.environment["HOTGEMM_CACHE_PATH"] = str(self.path / "lower")
        both = ["8 8 8 nn f16 sm_90a", "8 16 8 nn f16 sm_90a"]
        self.assertEqual(list(dict.fromkeys(self.problems("--from-db"))), both)
        self.assertEqual({p.split()[-1] for p in self.problems("--from-db", "--arch", "sm_80")}, {"sm_80"})
        more = self.problems("--from-db", "--arch", "sm_90a", "--shape", "8x8x8,8x24x8")
        self.assertEqual(list(dict.fromkeys(more)), [both[0], "8 24 8 nn f16 sm_90a", both[1]])
        buckets = self.problems("--from-db", "--m-buckets", "4:16")
        self.assertEqual({p.split()[0] for p in buckets}, {"4", "8", "16"})
        origins = [e["origin"] for e in self.run_json("prewarm", "--all", "--list")["results"]]
        self.assertIn("tuned", origins)
        self.assertIn("candidate", origins)
        self.assertEqual(self.run_json("prewarm", "--from-db", "--jobs", "1")["failed"], 0)
        self.run_command("prewarm", "--from-db", "--verify")


def modes_in(directory):
    """The modes of the directory and of all below it, as (directories, files)."""
    directories, files = set(), set()
    for path in [pathlib.Path(directory), *pathlib.Path(directory).rglob("*")]:
        (directories if path.is_dir() else files).add(path.stat().st_mode & 0o777)
    return directories, files


class LayerTest(PrewarmCase):
    def test_a_layer_is_complete_and_readable_by_all(self):
        self.run_command(*WORDS, "--cache-dir", "below", "--layout", "nn")
        self.environment["HOTGEMM_CACHE_PATH"] = str(self.path / "below")
        old = os.umask(0o077)
        self.addCleanup(os.umask, old)
        layer = self.path / "opt" / "layer"
        output = self.run_json(*WORDS, "--layer", "opt/layer")
        self.assertEqual((output["compiled"], output["cached"], output["stored"]), (0, 2, 2))
        self.assertEqual(len(kernels_in(layer)), 2)
        self.assertEqual(output["use"], f"HOTGEMM_CACHE_PATH={layer}")
        self.assertEqual(modes_in(self.path / "opt"), ({0o755}, {0o644}))
        self.assertIn(output["use"], self.run_command(*WORDS, "--layer", "opt/layer").stdout)
        self.assertFalse((self.path / "cache").exists(), "the user's cache is left alone")
        self.environment["HOTGEMM_CACHE_PATH"] = str(layer)
        self.environment["HOTGEMM_CACHE"] = "ro"
        self.run_command(*WORDS, "--verify")

    def test_a_private_directory_is_opened(self):
        self.run_command(*WORDS, "--cache-dir", "layer")
        self.assertEqual(modes_in(self.path / "layer"), ({0o700}, {0o600}))
        (self.path / "layer" / "records.jsonl").write_text("")
        (self.path / "layer" / "records.jsonl").chmod(0o600)
        (self.path / "layer" / "v1" / "link").symlink_to("/etc/shadow")
        self.run_command(*WORDS, "--layer", "layer")
        (self.path / "layer" / "v1" / "link").unlink()
        self.assertEqual(modes_in(self.path / "layer"), ({0o755}, {0o644}))

    def test_another_user_reads_it(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.path.chmod(0o755)
        self.run_command(*WORDS, "--layer", "layer")
        self.environment.update(HOTGEMM_CACHE_PATH=str(self.path / "layer"), HOTGEMM_CACHE="ro",
                                HOTGEMM_CACHE_DIR="/nonexistent")
        done = subprocess.run([cli_test.COMMAND, *WORDS, "--verify"], env=self.environment, capture_output=True,
                              text=True, timeout=300, check=False, cwd="/", user=65534, group=65534)
        if "Permission denied" in done.stderr:
            self.skipTest("the command itself is closed to other users")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_records_of_a_layer_count(self):
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm_=speed:1000"
        self.run_command("tune", "--shape", "8x8x8", *self.use_standin(), "--rounds", "2")
        (self.path / "layer").mkdir()
        self.run_command("db", "merge", "layer/records.jsonl", "cache/v1/db")
        self.environment["HOTGEMM_CACHE_DIR"] = str(self.path / "empty")
        output = self.run_json("prewarm", "--from-db", "--jobs", "1", "--layer", "layer")
        self.assertIn("tuned", [entry["origin"] for entry in output["results"]])
        self.environment["HOTGEMM_CACHE_PATH"] = str(self.path / "layer")
        self.run_command("prewarm", "--from-db", "--verify")
        words = ["bench", "--policy", "cached_only", "--shape", "8x8x8", "--no-baseline", "--mode", "eager"]
        self.run_command(*words, "--rounds", "2", "--round-us", "50", "--jobs", "1", "--scratch", "4M")

    def test_a_layer_that_cannot_be_named(self):
        self.assertIn("colon", self.run_command(*WORDS, "--layer", "a:b", expect=1).stderr)
        (self.path / "file").write_text("")
        self.assertIn("file", self.run_command(*WORDS, "--layer", "file/x", expect=3).stderr)


class BundleTest(PrewarmCase):
    def export(self):
        self.assertEqual(self.run_json(*WORDS, "--export", "k.tar")["exported"], 2)
        self.environment["HOTGEMM_CACHE_DIR"] = str(self.path / "other")

    def rewrite(self, change):
        """Writes bad.tar: k.tar with `change` applied to its dictionary of files."""
        with tarfile.open(self.path / "k.tar") as archive:
            files = {member.name: archive.extractfile(member).read() for member in archive}
        change(files)
        with tarfile.open(self.path / "bad.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    def test_a_bundle_serves_another_machine(self):
        self.export()
        first = (self.path / "k.tar").read_bytes()
        with tarfile.open(self.path / "k.tar") as archive:
            manifest = json.load(archive.extractfile("manifest.json"))
            self.assertEqual(len(archive.getnames()), 3)
            for row in manifest["kernels"]:
                data = archive.extractfile(row["file"]).read()
                self.assertEqual(hashlib.sha256(data).hexdigest(), row["sha256"])
                self.assertEqual((row["arch"], len(row["identity"])), ("sm_80", 64))
                self.assertTrue(row["toolchain"].startswith("nvrtc-"))
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
        self.assertEqual(self.run_json("prewarm", "--import", "k.tar")["imported"], {"sm_80": 2})
        self.run_command(*WORDS, "--verify")
        self.run_command(*WORDS, "--export", "again.tar")
        self.assertEqual((self.path / "again.tar").read_bytes(), first, "equal kernels give equal bundles")
        self.environment["HOTGEMM_CACHE_DIR"] = str(self.path / "third")
        self.assertEqual(self.run_json(*WORDS, "--import", "k.tar", "--layer", "layer")["cached"], 2)
        subprocess.run(["tar", "xf", "k.tar", "-C", "layer"], cwd=self.path, check=True)  # an archive for any tool

    def test_a_bundle_that_is_not_what_it_says_is_refused_as_a_whole(self):
        self.export()

        def kernels(files):
            return [name for name in files if name.endswith(".hgk")]

        def flip(files):
            data = bytearray(files[kernels(files)[1]])
            data[-100] ^= 1
            files[kernels(files)[1]] = bytes(data)

        def flip_and_hash(files):
            name = kernels(files)[1]
            before = hashlib.sha256(files[name]).hexdigest()
            flip(files)
            after = hashlib.sha256(files[name]).hexdigest()
            files["manifest.json"] = files["manifest.json"].replace(before.encode(), after.encode())

        def swap(files):
            a, b = kernels(files)
            files[a], files[b] = files[b], files[a]

        def rename(files):
            files["v1/../x"] = files.pop(kernels(files)[1])

        def other_arch(files):
            files["manifest.json"] = files["manifest.json"].replace(b'"sm_80"', b'"sm_90"')

        def drop(files):
            del files[kernels(files)[0]]

        def add(files):
            files["v1/more"] = b"x"

        def no_manifest(files):
            del files["manifest.json"]

        def other_format(files):
            files["manifest.json"] = b'{"bundle": 2, "kernels": []}'

        for change in (flip, flip_and_hash, swap, rename, other_arch, drop, add, no_manifest, other_format):
            with self.subTest(change=change.__name__):
                self.rewrite(change)
                self.assertIn("refused", self.run_command("prewarm", "--import", "bad.tar", expect=3).stderr)
                self.assertEqual(kernels_in(self.path / "other"), [])
        whole = (self.path / "k.tar").read_bytes()
        for name, data in (("short", whole[:len(whole) // 2]), ("empty", b""), ("text", b"no archive" * 100),
                           ("head", bytes([whole[0] ^ 1]) + whole[1:])):
            with self.subTest(name=name):
                (self.path / "bad.tar").write_bytes(data)
                self.assertIn("bad.tar", self.run_command("prewarm", "--import", "bad.tar", expect=3).stderr)
        self.assertIn("absent.tar", self.run_command("prewarm", "--import", "absent.tar", expect=3).stderr)
        self.assertEqual(kernels_in(self.path / "other"), [])

    def test_an_export_without_problems_is_refused(self):
        self.export()
        done = self.run_command("prewarm", "--import", "k.tar", "--export", "copy.tar", expect=1)
        self.assertIn("--export with --import needs problems", done.stderr)
        self.assertFalse((self.path / "copy.tar").exists())
        self.assertEqual(kernels_in(self.path / "other"), [])

    def test_what_cannot_be_stored_is_not_imported(self):
        self.export()
        self.environment["HOTGEMM_CACHE"] = "off"
        self.assertIn("not stored", self.run_command("prewarm", "--import", "k.tar", expect=3).stderr)

    def test_what_the_cache_has_no_room_for_is_not_imported(self):
        self.export()
        self.environment["HOTGEMM_CACHE_MAX_SIZE"] = "4096"
        done = self.run_command("prewarm", "--import", "k.tar", expect=3)
        self.assertRegex(done.stderr, r"[12] of 2 kernels were not stored: .*below 4096")

    def test_a_bundle_stays_as_it_was_if_another_cannot_be_written(self):
        self.export()
        whole = (self.path / "k.tar").read_bytes()
        # 8 KiB: less than a kernel, and enough for what the command writes to stderr
        done = subprocess.run(["bash", "-c", "ulimit -f 8; exec \"$@\"", "bash", cli_test.COMMAND, *WORDS,
                               "--export", "k.tar"], cwd=self.path, env=self.environment, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual((self.path / "k.tar").read_bytes(), whole)
        self.assertEqual(list(self.path.glob("*.tmp")), [])

    def test_an_incomplete_bundle_is_not_written(self):
        words = ["prewarm", "--arch", "sm_75,sm_80", "--shape", "64x64x64", "--acc", "f16", "--export", "k.tar"]
        self.run_command(*words, expect=2)
        self.assertFalse((self.path / "k.tar").exists())


class LayersOfTheCacheTest(PrewarmCase):
    def test_ls_stat_verify_and_extract_look_at_all_layers(self):
        self.run_command(*WORDS, "--layer", "below")
        self.run_command("prewarm", "--arch", "sm_80", "--shape", "64x64x64", "--layout", "nt", "--jobs", "1")
        self.environment["HOTGEMM_CACHE_PATH"] = str(self.path / "below")
        entries = self.run_json("cache", "ls")["entries"]
        layers = [str(self.path / "cache"), str(self.path / "below")]
        self.assertEqual(len(entries), 3)
        self.assertEqual(sorted({entry["layer"] for entry in entries}), sorted(layers))
        stat = self.run_json("cache", "stat")
        self.assertEqual(stat["entries"], 1)
        self.assertEqual([(s["directory"], s["entries"]) for s in stat["layers"]], list(zip(layers, (1, 2))))
        self.assertEqual(self.run_json("cache", "verify")["good"], 3)
        lowest = [entry for entry in entries if entry["layer"] == layers[1]]
        for entry in lowest:
            self.run_command("cache", "extract", entry["identity"], "k.cubin")
        damaged = kernels_in(self.path / "below")[0]
        self.damage(damaged)
        self.assertIn(str(damaged), self.run_command("cache", "verify", expect=2).stderr)
        self.assertTrue(damaged.exists())
        (self.path / "below").chmod(0o777)
        self.assertIn("below", self.run_command("cache", "verify", expect=2).stderr)
        self.assertIn("below", self.run_command("cache", "ls").stderr)
        (self.path / "below").chmod(0o755)
        self.assertEqual(self.run_json("cache", "trim", "--max-size", "1")["removed"], 1)
        self.assertEqual(len(kernels_in(self.path / "below")), 2, "a lower layer is only read")
        self.assertEqual(self.run_json("cache", "trim", "--max-size", "1", "--cache-dir", "below")["removed"], 2)


if __name__ == "__main__":
    sys.exit(cli_test.main())
