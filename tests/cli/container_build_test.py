#!/usr/bin/env python3
"""Builds examples/container/Dockerfile without a container engine: each stage is a root directory that debootstrap
made, or a copy of an earlier stage's, and each COPY, RUN, ENV, WORKDIR and USER line is carried out in it. At last the
image is run, as its user and with a root file system that cannot be written.

It takes 15 minutes, root and Debian's mirror, so it runs under HOTGEMM_TEST_FULL=1 only."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from container_test import CONTAINER, ROOT, stages_of, words_of

# A machine needs these to reach its mirrors: a container engine passes them on as well.
NETWORK_FILES = ("etc/resolv.conf", "etc/hosts", "etc/apt/apt.conf.d", "etc/pip.conf")
NETWORK_VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
TRUSTED = "etc/ssl/trusted.crt"  # another name, since installing ca-certificates replaces the file above
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=3000, check=False,
                          **how)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, words))} exits with {done.returncode}:\n{done.stdout[-4000:]}\n"
                             f"{done.stderr[-4000:]}")
    return done.stdout


def make_debian_root(root):
    """Makes `root` the root of Debian 12, from its mirror."""
    run("debootstrap", "--variant=minbase", "bookworm", root)
    for name, copy in [(name, name) for name in NETWORK_FILES] + [(CERTIFICATES, TRUSTED), (CERTIFICATES,) * 2]:
        source, target = pathlib.Path("/") / name, root / copy
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            target.mkdir(exist_ok=True)
            run("cp", "-aL", f"{source}/.", target)
        elif source.exists():
            shutil.copy(source, target)


class Image:
    """The file system of a stage, and what its lines have set."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.directory = "/"
        self.user = "0:0"
        self.environment = {"PATH": PATH, "SSL_CERT_FILE": f"/{TRUSTED}", "PIP_CERT": f"/{TRUSTED}",
                            **{name: os.environ[name] for name in NETWORK_VARIABLES if name in os.environ}}

    def inside(self, path):
        """The place of the image's `path` on this machine."""
        return self.root / os.path.join(self.directory, path).lstrip("/")

    def execute(self, words, read_only=False):
        """Runs a command in namespaces of its own, which take their mounts along when it ends."""
        script = 'mount -t proc proc "$ROOT/proc"'
        if read_only:
            script = 'mount --bind "$ROOT" "$ROOT" && mount -o remount,ro,bind "$ROOT" && ' + script
        uid, gid = self.user.split(":")
        inner = f'cd {shlex.quote(self.directory)} && exec "$@"'
        script += f' && exec chroot --userspec={uid}:{gid} "$ROOT" /usr/bin/env -i "$@"'
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *settings, "sh", "-c", inner,
                   "sh", *words, env={"PATH": PATH, "ROOT": str(self.root)})

    def copy(self, sources, target):
        place = self.inside(target)
        if target.endswith("/") or target == ".":
            place.mkdir(parents=True, exist_ok=True)
        for source in sources:
            if source.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                run("cp", "-a", f"{source}/.", place)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                run("cp", "-a", source, place)
        run("chown", "-R", "0:0", place)


class ContainerBuildTest(unittest.TestCase):
    def setUp(self):
        if os.environ.get("HOTGEMM_TEST_FULL") != "1":
            self.skipTest("HOTGEMM_TEST_FULL is not set")
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            self.skipTest("it needs root and debootstrap")
        directory = tempfile.TemporaryDirectory(prefix="hotgemm-container-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.path.chmod(0o755)  # the image's user reads it
        self.images = {}

    def base(self):
        base = self.path / "base"
        if not base.exists():
            make_debian_root(base)
        return base

    def context(self):
        """The files of the source tree that a build gets: those that git tracks."""
        context = self.path / "context"
        if not context.exists():
            context.mkdir()
            run("sh", "-c", f"git ls-files -z | tar -c --null -T - | tar -x -C {shlex.quote(str(context))}", cwd=ROOT)
        return context

    def carry_out(self, image, name, rest):
        if name == "WORKDIR":
            image.directory = rest.strip()
            image.inside(".").mkdir(parents=True, exist_ok=True)
        elif name == "ENV":
            image.environment.update(word.split("=", 1) for word in shlex.split(rest))
        elif name == "USER":
            image.user = rest.strip()
        elif name == "COPY":
            words = shlex.split(rest)
            source = self.context()
            if words[0].startswith("--from="):
                source = self.images[words.pop(0).removeprefix("--from=")].root
            image.copy([source / word.lstrip("/") for word in words[:-1]], words[-1])
        elif name == "RUN":
            image.execute(words_of(rest) if rest.startswith("[") else ["/bin/sh", "-c", rest])

    def test_it_builds_and_runs(self):
        stages = stages_of((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
        for index, stage in enumerate(stages):
            root = self.path / f"stage{index}"
            run("cp", "-a", "--reflink=auto", self.images[stage.base].root if stage.base in self.images else self.base(),
                root)
            image = Image(root)
            if stage.base in self.images:
                image.directory = self.images[stage.base].directory
                image.environment.update(self.images[stage.base].environment)
            for name, rest in stage.lines:
                self.carry_out(image, name, rest)
            self.images[stage.name] = image
        last = stages[-1]
        words = words_of(last.of("ENTRYPOINT")[0]) + words_of(last.of("CMD")[0])
        said = image.execute(words, read_only=True)
        self.assertIn("0 are missing", said)
        # It compiles nothing, and knows no path of the build.
        self.assertEqual(list(image.root.rglob("libnvrtc*")), [])
        self.assertIn("cached_only", image.execute(["/opt/hotgemm/bin/hotgemm", "bench", "--help"], read_only=True))


if __name__ == "__main__":
    unittest.main()
