#!/usr/bin/env python3
"""Runs `hotgemm` as an operator of many processes would: problem logs, shares of a list, ranks of a real mpirun and of a
real Slurm."""

import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib

import cli_test
from tune_test import DONE_LINE, TuneCase


class ListTest(TuneCase):
    def order_of(self, *words):
        done = self.run_command("tune", *self.OPTIONS, *words)
        return [match["label"].split()[1] for match in map(DONE_LINE.match, done.stderr.splitlines()) if match]

    def test_a_log_is_tuned_by_the_time_that_the_program_spent(self):
        log = self.path / "log"
        log.mkdir()
        (log / "problems-a-1.txt").write_text("# Problems of a\n8 8 8 nn f16 count=1\n8 16 8 nn f16 count=1\n"
                                              "8 24 8 nn f16 count=1\n8 16 8 nn f16 count=2\n")
        (log / "problems-b-2.txt").write_text("7 24 8 nn f16 align=16 count=40\n8 32 8 nn f16 us=1e9 count=2\n")
        # The time of 32 is that of the list; 7 and 8 rows are one class, called 41 times.
        self.assertEqual(self.order_of("--shapes", "log"), ["32", "24", "16", "8"])
        shown = [record["problem"].split() for record in self.run_json("db", "show")["records"]]
        self.assertIn(["8", "24"], [words[:2] for words in shown], "the largest problem of a class is measured")
        # Now there are records: all take equally long.
        self.assertEqual(self.order_of("--shapes", "log", "--retune"), ["24", "16", "32", "8"])
        self.assertEqual(self.run_json("tune", *self.OPTIONS, "--shapes", "log", "--resume")["left"], 0)

    def test_lists_without_counts_keep_their_order(self):
        (self.path / "list.txt").write_text("8 16 8 nn f16\n8 8 8 nn f16\n8 24 8 nn f16\n")
        self.assertEqual(self.order_of("--shapes", "list.txt"), ["16", "8", "24"])

    def test_results_of_tunableop_are_a_list(self):
        (self.path / "tunableop_results0.csv").write_text(
            "Validator,PT_VERSION,2.6.0\n"
            "GemmTunableOp_Half_NN,nn_16_8_8_ld_16_8_16,Gemm_Hipblaslt_220,0.0125\n"
            "GemmTunableOp_Half_NN,nn_8_8_8_ld_8_8_8,Default,0.01\n")
        problems = [r["problem"] for r in self.tune("--shapes", "tunableop_results0.csv")["results"]]
        self.assertEqual(problems, ["8 16 8 nn f16 align=16", "8 8 8 nn f16 align=16"])
        self.assertIn("no *.txt or *.csv", self.run_command("tune", "--shapes", "cache", *self.OPTIONS, expect=1).stderr)

    def test_the_commands_own_calls_are_not_logged(self):
        self.environment["HOTGEMM_PROBLEM_LOG"] = str(self.path / "log")
        self.run_command("bench", "--policy", "estimate", "--shape", "8x8x8", "--no-baseline", "--mode", "eager",
                         "--rounds", "1", "--round-us", "50", "--scratch", "1M")
        self.assertFalse((self.path / "log").exists())


class StaleTest(TuneCase):
    def test_only_stale_records_are_measured_again(self):
        self.tune("--shape", "8x8x8,8x16x8,8x24x8")
        none = self.tune("--stale")
        self.assertEqual((none["results"], none["ended"], none["left"]), ([], "complete", 0))
        # Another driver: that of the records of two problems.
        segment = next((self.path / "cache" / "v1" / "db").iterdir())
        lines = segment.read_text().splitlines()
        changed = [self.sealed(line.replace('"driver":"', '"driver":"9')) if " 24 " not in line[:20] else line
                   for line in lines]
        segment.write_text("\n".join(changed) + "\n")
        shown = {r["problem"].split()[1]: r for r in self.run_json("db", "show")["records"]}
        self.assertEqual({n: r["stale"] for n, r in shown.items()}, {"8": True, "16": True, "24": False})
        self.assertIn("stale: driver", self.run_command("db", "show").stdout)
        listed = self.tune("--stale", "--shape", "8x16x8,8x24x8")["results"]
        self.assertEqual([(r["problem"].split()[1], r["origin"]) for r in listed], [("16", "tuned")])
        again = self.run_command("tune", *self.OPTIONS, "--stale")
        self.assertIn("1 of 3 problems have a stale record", again.stderr)
        self.assertEqual(self.tune("--stale")["results"], [])

    @staticmethod
    def sealed(line):
        """`line` with the checksum of its text."""
        body = re.sub(r',"crc":"[0-9a-f]{8}"}$', "", line)
        return f'{body},"crc":"{zlib.crc32(body.encode()):08x}"}}'


class ShardTest(TuneCase):
    def test_shares_are_the_list_and_merge_joins_them(self):
        seen = []
        for shard in range(3):
            output = self.tune("--shape", self.LIST, "--shard", f"{shard}/3", "--cache-dir", f"part{shard}")
            self.assertEqual(output["shard"]["of"], self.COUNT)
            self.assertIn(output["shard"]["problems"], (5, 6))
            seen += [r["problem"] for r in output["results"]]
        self.assertEqual(len(set(seen)), self.COUNT)
        self.assertEqual(len(seen), self.COUNT)
        merged = self.run_json("db", "merge", "fleet.jsonl", "part0", "part1", "part2")
        self.assertEqual(merged["kept"], self.COUNT)
        different = self.run_json("db", "diff", "part0", "fleet.jsonl", expect=2)
        self.assertEqual(len(different["differences"]), self.COUNT - different["same"])
        self.assertTrue(all(d["first"] is None for d in different["differences"]))
        self.assertIn("0 picks differ", self.run_command("db", "diff", "fleet.jsonl", "fleet.jsonl").stdout)
        # Shipped as a read-only layer, they answer for all.
        (self.path / "layer" / "v1" / "db").mkdir(parents=True)
        shutil.copy(self.path / "fleet.jsonl", self.path / "layer" / "v1" / "db")
        os.chmod(self.path / "layer" / "v1" / "db" / "fleet.jsonl", 0o600)
        self.environment["HOTGEMM_CACHE_PATH"] += f":{self.path / 'layer'}"
        self.assertEqual({r["origin"] for r in self.tune("--shape", self.LIST)["results"]}, {"recorded"})

    def test_more_shards_than_problems(self):
        counts = [len(self.tune("--shape", "8x8x8", "--shard", f"{i}/3")["results"]) for i in range(3)]
        self.assertEqual(sorted(counts), [0, 0, 1])

    def test_bad_shards(self):
        for shard in ("3/3", "-1/3", "1", "a/b", "0/0", "1/3x"):
            with self.subTest(shard=shard):
                done = self.run_command("tune", "--shape", "8x8x8", f"--shard={shard}", *self.OPTIONS, expect=1)
                self.assertIn("--shard", done.stderr)
        self.environment["JOB_COMPLETION_INDEX"] = "0"
        done = self.run_command("tune", "--shape", "8x8x8", "--shard", "auto", *self.OPTIONS, expect=1)
        self.assertIn("HOTGEMM_JOB_SIZE", done.stderr)
        self.environment["HOTGEMM_JOB_SIZE"] = "1"
        self.assertEqual(self.tune("--shape", "8x8x8", "--shard", "auto")["shard"]["launcher"], "Kubernetes")


def free_ports(count):
    """Ports of this machine that nothing listens on now."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class RanksCase(TuneCase):
    RANKS = 3

    def setUp(self):
        super().setUp()
        for name in list(self.environment):
            if re.match(r"OMPI_|PMI|SLURM_|RANK$|WORLD_SIZE$", name):
                del self.environment[name]
        self.environment["HOTGEMM_STANDIN_DEVICES"] = str(self.RANKS)

    def ranks_of(self, launcher, variable, *words):
        """What `hotgemm WORDS --json` says as each rank that `launcher` starts and numbers in `variable`."""
        for old in self.path.glob("rank.*"):
            old.unlink()
        script = f'out=rank.${variable}; exec "$@" --json > "$out"'
        done = subprocess.run([*launcher, "-n", str(self.RANKS), "sh", "-c", script, "sh", cli_test.COMMAND, *words],
                              env=self.environment, capture_output=True, text=True, timeout=300, check=False,
                              cwd=self.path)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return [json.loads((self.path / f"rank.{rank}").read_text()) for rank in range(self.RANKS)]


class SlurmTest(RanksCase):
    """Slurm on this machine alone, with a key, ports and directories of its own."""

    def setUp(self):
        super().setUp()
        for program in ("munged", "slurmctld", "slurmd"):
            if not pathlib.Path(f"/usr/sbin/{program}").exists():
                self.skipTest(f"{program} is missing: tools/setup installs Debian's slurm-wlm and munge")
        for program in ("sinfo", "srun"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is missing: tools/setup installs Debian's slurm-wlm")
        if os.geteuid() != 0:
            self.skipTest("slurmd needs root")
        self.processes = []
        self.addCleanup(self.stop)
        home = self.path / "slurm"
        home.mkdir(mode=0o700)
        (home / "key").write_bytes(os.urandom(128))
        (home / "key").chmod(0o400)
        munge = home / "munge"
        self.start("munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={home / 'key'}",
                   f"--pid-file={home / 'munged.pid'}", f"--seed-file={home / 'seed'}")
        host = platform.node().split(".")[0]
        ports = free_ports(2)
        (home / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={munge}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={home}
SlurmdSpoolDir={home}
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()}
PartitionName=main Nodes=ALL Default=YES State=UP
""")
        self.environment["SLURM_CONF"] = str(home / "slurm.conf")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        for _ in range(300):
            done = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=self.environment, capture_output=True,
                                  text=True, check=False)
            if done.stdout.strip() == "idle":
                break
            time.sleep(0.1)
        step = subprocess.run(["timeout", "30", "srun", "-n", "1", "true"], env=self.environment, capture_output=True,
                              text=True, check=False)
        if step.returncode != 0:
            self.skipTest(f"Slurm does not run here: {done.stdout}{done.stderr}{step.stderr}")

    def start(self, program, *words):
        with (self.path / f"{program}.log").open("wb") as log:
            self.processes.append(subprocess.Popen([f"/usr/sbin/{program}", *words], env=self.environment, stdout=log,
                                                   stderr=log))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=60)

    def test_ranks_share_a_list(self):
        outputs = self.ranks_of(["srun", "--overcommit"], "SLURM_PROCID", "tune", "--shape", self.LIST, "--shard",
                                "auto", *self.OPTIONS)
        self.assertEqual([o["shard"]["index"] for o in outputs], list(range(self.RANKS)))
        self.assertEqual({o["shard"]["launcher"] for o in outputs}, {"Slurm"})
        problems = [r["problem"] for o in outputs for r in o["results"]]
        self.assertEqual((len(problems), len(set(problems))), (self.COUNT, self.COUNT))
        self.assertEqual([{r["gpu"] for r in o["results"]} for o in outputs], [{0}, {1}, {2}])
        self.assertEqual(len(self.records()), self.COUNT)


class MpiTest(RanksCase):
    LAUNCHER = ("mpirun", "--oversubscribe")
    RANK = "OMPI_COMM_WORLD_RANK"

    def setUp(self):
        super().setUp()
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is missing: tools/setup installs Debian's openmpi-bin")
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # Another MPI has other options and variables, and Open MPI does not start in every container.
        tried = subprocess.run([*self.LAUNCHER, "-n", "1", "sh", "-c", f'test -n "${self.RANK}"'], env=self.environment,
                               capture_output=True, text=True, timeout=60, check=False, cwd=self.path)
        if tried.returncode != 0:
            self.skipTest(f"mpirun starts no ranks of Open MPI here: {tried.stdout}{tried.stderr}")

    def ranks(self, *words):
        return self.ranks_of(self.LAUNCHER, self.RANK, *words)

    def segments(self):
        return {path for path in (self.path / "cache" / "v1" / "db").iterdir() if path.stat().st_size > 0}

    def test_ranks_share_a_list_and_agree(self):
        outputs = self.ranks("tune", "--shape", self.LIST, "--shard", "auto", *self.OPTIONS)
        self.assertEqual([o["shard"]["index"] for o in outputs], list(range(self.RANKS)))
        self.assertEqual({o["shard"]["launcher"] for o in outputs}, {"Open MPI"})
        problems = [r["problem"] for o in outputs for r in o["results"]]
        self.assertEqual((len(problems), len(set(problems))), (self.COUNT, self.COUNT))
        self.assertEqual({r["origin"] for o in outputs for r in o["results"]}, {"tuned"})
        # Each rank has a GPU and a segment of its own.
        self.assertEqual([{r["gpu"] for r in o["results"]} for o in outputs], [{0}, {1}, {2}])
        self.assertEqual(len(self.segments()), self.RANKS)
        self.assertEqual(len(self.records()), self.COUNT)

        digests = {o["digest"] for o in self.ranks("db", "digest")}
        self.assertEqual(len(digests), 1)
        before = digests.pop()
        picks = [[(e["problem"], e["config"]) for e in o["results"]]
                 for o in self.ranks("prewarm", "--list", "--arch", "sm_90a", "--shape", self.LIST)]
        self.assertTrue(all(p == picks[0] for p in picks))
        self.run_command("db", "prune")
        self.assertEqual(self.run_json("db", "digest")["records"], self.COUNT)
        self.tune("--shape", "40x40x40")  # of no problem before: a record of the same second may be equal
        self.assertNotEqual(self.run_json("db", "digest")["digest"], before)

    def test_a_rank_that_dies_costs_its_share(self):
        # Rank 1 is killed behind its first problem, the others end.
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=slow:400"
        for shard in (0, 2):
            self.tune("--shape", self.LIST, "--shard", f"{shard}/3")
        words = [cli_test.COMMAND, "tune", "--shape", self.LIST, "--shard", "1/3", *self.OPTIONS]
        with subprocess.Popen(words, env=self.environment, text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, cwd=self.path) as process:
            while not DONE_LINE.match(line := process.stderr.readline()):
                self.assertNotEqual(line, "", "it ended too early")
            process.kill()
            process.communicate(timeout=60)
        recorded = len(self.records())
        self.assertLess(recorded, self.COUNT)
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm_=speed:1000"
        outputs = self.ranks("tune", "--shape", self.LIST, "--shard", "auto", *self.OPTIONS)
        tuned = [sum(r["origin"] == "tuned" for r in o["results"]) for o in outputs]
        self.assertEqual(tuned, [0, self.COUNT - recorded, 0])
        self.assertEqual(len(self.records()), self.COUNT)

    def test_prewarming_ranks_compile_each_kernel_once(self):
        self.environment["HOTGEMM_CACHE_PATH"] = ""
        words = ["prewarm", "--arch", "sm_80", "--shape", "64x64x64", "--layout", "nn,nt,tn,tt", "--dtype", "f16,bf16",
                 "--jobs", "1"]
        outputs = self.ranks(*words, "--shard", "auto")
        self.assertEqual(sum(o["compiled"] for o in outputs), 8)
        self.assertEqual(sum(o["shard"]["problems"] for o in outputs), 8)
        self.assertEqual({o["shard"]["problems"] for o in outputs}, {2, 3})
        self.assertEqual(self.run_json(*words, "--list")["to_compile"], 0)


if __name__ == "__main__":
    sys.exit(cli_test.main())
