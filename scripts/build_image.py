#!/usr/bin/env python3
"""Takes the steps of deploy/docker/Dockerfile without a container runtime, and tries what comes of them.

Each stage is a folder with Debian 12 by debootstrap, in which RUN is run by systemd-nspawn.  Then the image is started
as its ENTRYPOINT, CMD and USER say, asked by its HEALTHCHECK and for a prediction, and its size is told.  As root.

    scripts/build_image.py                    all of it, in build/image
    scripts/build_image.py --packages=FOLDER  with these packages instead of those that the stage "build" makes
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
work = os.path.join(tree, "build/image")
limit = 150 << 20  # bytes over the base


def run(command, **more):
    return subprocess.run(command, check=True, **more)


def nspawn(root, command, binds=(), user=None, more=()):
    """A command in a root folder."""
    line = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--resolv-conf=replace-host", "-D", root]
    line += [f"--bind-ro={source}:{target}" for source, target in binds] + list(more)
    if user is not None: # systemd-nspawn knows users by name only
        command = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups", "--no-new-privs"] + command
    return line + command


def read_steps(path):
    """[(instruction, text)], without comments, with continued lines joined."""
    with open(path, encoding="utf-8") as file:
        text = "".join(line for line in file if not line.startswith("#"))
    lines = re.sub(r"\\\n\s*", " ", text).split("\n")
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def make_base():
    """What stands for debian:12-slim: minbase without documents, as that image leaves them out."""
    base = os.path.join(work, "base")
    if os.path.exists(base + ".made"):
        return base
    shutil.rmtree(base, ignore_errors=True)
    run(["debootstrap", "--variant=minbase", "bookworm", base], stdout=subprocess.DEVNULL)
    with open(base + "/etc/dpkg/dpkg.cfg.d/docker", "w", encoding="utf-8") as file:
        file.write("path-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\npath-exclude /usr/share/locale/*\n")
    # Nothing starts in an image.
    with open(base + "/usr/sbin/policy-rc.d", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(base + "/usr/sbin/policy-rc.d", 0o755)
    for folder in ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt"):
        for path in glob.glob(f"{base}/{folder}/*"):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    open(base + ".made", "w", encoding="utf-8").close()
    return base


class Stage:
    def __init__(self, name):
        self.root = os.path.join(work, "stage-" + name)
        self.folder = "/"
        self.settings = {}
        shutil.rmtree(self.root, ignore_errors=True)
        run(["cp", "-a", make_base(), self.root])


def copy_tree(target):
    """COPY . TARGET, without what Dockerfile.dockerignore leaves out."""
    with open(tree + "/deploy/docker/Dockerfile.dockerignore", encoding="utf-8") as file:
        ignored = [f"--exclude=./{line.strip()}" for line in file if line.strip()]
    os.makedirs(target)
    tar = subprocess.Popen(["tar", "-c", "-C", tree] + ignored + ["."], stdout=subprocess.PIPE)
    run(["tar", "-x", "-C", target], stdin=tar.stdout)
    if tar.wait() != 0:
        sys.exit("build_image.py: tar failed")


def take_step(stage, stages, instruction, text):
    print(f"{instruction} {text}")
    if instruction == "COPY" and text.split()[0] == ".":
        copy_tree(stage.root + text.split()[1])
    elif instruction == "WORKDIR":
        stage.folder = text
    elif instruction == "RUN":
        binds = []
        for mount in re.findall(r"--mount=(\S+)", text):
            options = dict(option.split("=") for option in mount.split(","))
            binds.append((stages[options["from"]].root + options["source"], options["target"]))
        command = f"cd {stage.folder} && " + re.sub(r"--mount=\S+ ", "", text)
        log = os.path.join(work, "run.log")
        with open(log, "w", encoding="utf-8") as file:
            done = subprocess.run(nspawn(stage.root, ["/bin/sh", "-c", command], binds, more=["--pipe"]), stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        if done.returncode != 0:
            with open(log, encoding="utf-8") as file:
                sys.exit("".join(file.readlines()[-40:]) + "build_image.py: the step failed")
    elif instruction in ("USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
        stage.settings[instruction] = text
    else:
        sys.exit(f"build_image.py: cannot take the step {instruction} {text}")


def build(packages):
    """The last stage."""
    stages = {}
    stage = None
    for instruction, text in read_steps(tree + "/deploy/docker/Dockerfile"):
        if instruction == "FROM":
            name = text.split()[2] if " AS " in text else "last"
            stage = stages[name] = Stage(name)
            if name == "build" and packages is not None:
                shutil.copytree(packages, stage.root + "/packages")
        elif name != "build" or packages is None:
            take_step(stage, stages, instruction, text)
    return stage


def size(root):
    text = subprocess.check_output(["du", "-s", "--block-size=1", root], text=True)
    return int(text.split()[0])


def try_image(stage):
    """Starts it, waits until it is healthy, asks for a prediction."""
    user = stage.settings["USER"].split(":")
    health = json.loads(re.sub(r"^.*? CMD ", "", stage.settings["HEALTHCHECK"]))
    start = json.loads(stage.settings["ENTRYPOINT"]) + json.loads(stage.settings["CMD"])
    host = subprocess.Popen(nspawn(stage.root, start, user=user, more=["--private-network", "--read-only", "--as-pid2", "--pipe"]), stderr=subprocess.PIPE, text=True)
    try:
        for line in host.stderr:
            print("   ", line.rstrip())
            if "listening on" in line:
                break
        pid = subprocess.check_output(["pgrep", "-n", "-f", "^" + shlex.join(start)], text=True).strip()
        inside = ["nsenter", "-t", pid, "-n", "-r", "-w", "-S", user[0], "-G", user[1]]
        for _ in range(100):
            if subprocess.run(inside + health).returncode == 0:
                break
            time.sleep(0.1)
        else:
            sys.exit("build_image.py: its HEALTHCHECK fails")
        print("healthy; as user", re.search(r"Uid:\s+(\d+)", open(f"/proc/{pid}/status", encoding="utf-8").read()).group(1))
        with open(tree + "/examples/sample_request.json", encoding="utf-8") as file:
            body = file.read()
        answer = subprocess.check_output(["nsenter", "-t", pid, "-n", "curl", "-sS", "-d", body, "http://127.0.0.1:8501/v1/models/sample:predict"], text=True)
        print("answer:", "".join(answer.split()))
        if '"outputs"' not in answer:
            sys.exit("build_image.py: the sample does not answer")
    finally:
        host.terminate()
        host.wait()


def main():
    packages = None
    for argument in sys.argv[1:]:
        if argument in ("-h", "--help", "help"):
            print(__doc__)
            return
        if not argument.startswith("--packages="):
            sys.exit(f"build_image.py: unknown option {argument} (try --help)")
        packages = os.path.abspath(argument.split("=", 1)[1])
    run([tree + "/scripts/packages.sh", "--ensure", "machine"])
    os.makedirs(work, exist_ok=True)
    stage = build(packages)
    try_image(stage)
    over = size(stage.root) - size(make_base())
    print(f"size: {size(make_base()) / 2**20:.1f} MiB of the base and {over / 2**20:.1f} MiB of ours")
    if over > limit:
        sys.exit(f"build_image.py: more than {limit >> 20} MiB over the base")


main()
