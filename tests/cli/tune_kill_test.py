#!/usr/bin/env python3
"""Kills `hotgemm tune` and its worker with SIGKILL at random moments. HOTGEMM_TEST_KILLS is the number of kills
(default 50), HOTGEMM_TEST_SEED the seed (default 1)."""

import contextlib
import os
import random
import shutil
import signal
import sys
import time

import cli_test
import tune_test

KILLS = int(os.environ.get("HOTGEMM_TEST_KILLS", "50"))
SEED = int(os.environ.get("HOTGEMM_TEST_SEED", "1"))


class KillTest(tune_test.TuneCase):
    LONGEST_WAIT_S = 0.5
    KILLS_PER_RUN = 3

    def test_kills_at_random_moments_lose_and_falsify_nothing(self):
        """Each run continues the killed run before it until the list is done. Then a new list starts."""
        names = self.candidates()
        wrong = names[0]
        self.plant((wrong, "wrong"), (wrong, "speed:10"))
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=slow:100"
        rng = random.Random(SEED)
        self.told = {}
        killed = {"parent": 0, "worker": 0}
        while sum(killed.values()) < KILLS:
            process = self.start("--shape", self.LIST, "--resume")
            for _ in range(self.KILLS_PER_RUN):
                time.sleep(rng.uniform(0, self.LONGEST_WAIT_S))
                victim = rng.choice(["parent", "worker"])
                killed[victim] += self.kill(process, victim)
            if self.compare_with_records(process, names, f"seed {SEED}, after {killed}"):
                self.told = {}
                shutil.rmtree(self.path / "cache")
        self.assertGreater(min(killed.values()), 0)
        # A slow machine may complete no list between kills.
        self.assertTrue(self.compare_with_records(self.start("--shape", self.LIST, "--resume"), names, "without a kill"))

    def compare_with_records(self, process, names, label):
        """Waits for the run. Each problem that a run reported must have its record, and no record the wrong config,
        which is the first of `names`. Returns True if the list is done, False if the run was killed."""
        _, text = process.communicate(timeout=120)
        self.expect_nobody_left()
        self.told |= {match["label"]: match["config"]
                      for match in map(tune_test.DONE_LINE.match, text.splitlines()) if match}
        kept = self.records()
        for problem, config in self.told.items():
            self.assertEqual(kept.get(problem), config, label)
        self.assertTrue(set(kept.values()) <= set(names[1:]), (label, kept))
        if process.returncode == -signal.SIGKILL:
            return False
        self.assertEqual(process.returncode, 0, (label, text))  # the command replaces a killed worker
        self.assertEqual(len(kept), self.COUNT, label)
        return True

    def kill(self, process, victim):
        """Kills the victim. Returns False if it was not running."""
        target = process.pid
        if victim == "worker":
            family = tune_test.processes_of(self.environment["HOTGEMM_CACHE_DIR"])
            target = next((pid for pid, words in family.items() if b"worker" in words), None)
        if target is None or process.poll() is not None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, signal.SIGKILL)
            return True
        return False


if __name__ == "__main__":
    sys.exit(cli_test.main())
