#!/usr/bin/env python3
"""boot.py --build FOLDER: tests under the kernel of Debian 12, Linux 6.1, in a virtual machine.

Unpacks the package of the kernel without installing it, and packs an initramfs: a shell (busybox),
Python, the programs of the build and what they load, and this repository's tests, all under the
paths that they have here. QEMU boots both. guest.py runs the tests and reports over a serial line.

The suites unit (with 2 processors), example and net. With KVM if a machine starts with it. Otherwise
it is emulated (TCG), which is some ten times slower: counts are divided by 10 then, and a few
examples that depend on time are left out.

In each run, two tests that must fail are among them: one ends with 1, one does not end. The run
fails if they are not reported, if another test fails or is missing, if the kernel panics, or if all
of it takes longer than --limit seconds.

Needs the packages qemu-system-x86, busybox-static, cpio, iproute2, and apt-get for that of the
kernel.
"""
import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import tests

REPOSITORY = Path(__file__).resolve().parents[2]
KERNEL = "linux-image-cloud-amd64"
MODULES = ("veth", "tun", "sch_netem")
PYTHON = "/usr/bin/python3"  # Debian's, which has its library at one place
TOOLS = ("ip", "tc", "unshare", "nsenter", "setpriv", "openssl")
TOOLS += ("bash", "find", "wc", "tail", "tr", "grep", "sort", "uniq", "cat")  # wordcount is compared with them
SERVERS = ("redis-server", "nats-server")  # of examples that are built if these are installed
WITH_LINES = ("33_hang", "34_leak", "36_contention", "37_lost", "45_lock_order")  # they must name lines of their sources
SETTINGS = ("/etc/hosts", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/ssl/openssl.cnf",
            "/usr/lib/ssl/openssl.cnf")
PYTHON_LEFT_OUT = shutil.ignore_patterns("test", "idlelib", "lib2to3", "ensurepip", "dist-packages", "tkinter", "turtledemo", "pydoc_data", "config-3*")
MEMORY_MIB = 3072
# They show that something takes no longer than it should. Emulated, it may.
TIMED = ("example.19_blocking", "example.29_asio", "example.30_recording")
KVM_LIMIT = 25  # seconds until the first sign of life; some hosts have a KVM in which nothing starts

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /run /tmp /root /var/tmp
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
export PYTHONDONTWRITEBYTECODE=1
ip link set lo up
for module in /modules/*.ko; do insmod $module; done
ulimit -c 0
/usr/bin/python3 {here}/guest.py /plan
poweroff -f
"""

# In every run: the machinery must see both.
CANARIES = {"canary.ends_with_1": ["/bin/sh", "-c", "exit 1"], "canary.does_not_end": ["/bin/sleep", "100000"]}


def fail(text):
    print(f"kernels: {text}")
    sys.exit(1)


def output_of(*command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if ended.returncode != 0:
        fail(f"{' '.join(map(str, command))}: {(ended.stdout + ended.stderr).strip()}")
    return ended.stdout


def kernel(work):
    """Unpacks the package; returns its folder."""
    listed = output_of("apt-cache", "depends", KERNEL)
    package = re.search(r"Depends: (linux-image-\S+)", listed).group(1)
    folder = work / package
    if not (folder / "boot").exists():
        shutil.rmtree(folder, ignore_errors=True)
        output_of("apt-get", "download", "-q", package, cwd=work)
        archive = max(work.glob(f"{package}_*.deb"), key=lambda p: p.stat().st_mtime)
        output_of("dpkg", "-x", archive, folder)
    return folder


class Root:
    """The content of the initramfs."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in "bin", "proc", "sys", "dev", "plan", "modules", "usr/bin", "usr/lib", "usr/sbin":
            (folder / name).mkdir(parents=True)
        self.have = set()

    def add(self, *paths):
        """Files under the paths that they have here, with the libraries that programs and libraries load."""
        loaders = []
        for path in map(Path, paths):
            if path in self.have:
                continue
            self.have.add(path)
            to = self.inside(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    loaders.append(path)
        if loaders:
            # It complains about static programs.
            loaded = subprocess.run(["ldd", *loaders], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            self.add(*re.findall(r"(/\S+) \(0x", loaded))

    def inside(self, path):
        return self.folder / Path(path).relative_to("/")

    def add_programs(self, paths):
        """The same, most of them without lines of sources, which are most of the bytes. Names stay, for reports."""
        self.add(*paths)
        subprocess.run(["strip", "--strip-debug", *(self.inside(p) for p in paths if p.name not in WITH_LINES)], check=True)

    def add_folder(self, path, **options):
        shutil.copytree(path, self.inside(path), symlinks=True, dirs_exist_ok=True, **options)

    def pack(self, to):
        names = output_of("find", ".", cwd=self.folder)
        with open(to, "wb") as file:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=self.folder, input=names.encode(), stdout=file, check=True)


def make_root(work, kernel_folder, chosen, build):
    root = Root(work / "root")
    shutil.copy("/bin/busybox", root.folder / "bin/busybox")
    for name in "sh", "sleep":
        os.symlink("busybox", root.folder / "bin" / name)
    for tool in TOOLS:
        found = shutil.which(tool)
        if not found:
            fail(f"there is no program {tool}")
        root.add(found)
    root.add(*filter(None, map(shutil.which, SERVERS)))
    root.add(PYTHON)
    library = Path(output_of(PYTHON, "-c", "import os; print(os.path.dirname(os.__file__))").strip())
    root.add_folder(library, ignore=PYTHON_LEFT_OUT)
    root.add(*(library / "lib-dynload").glob("*.so"))
    for setting in SETTINGS:
        if Path(setting).exists():
            root.add(setting)
    for name in MODULES:
        found = list(kernel_folder.glob(f"lib/modules/*/kernel/**/{name}.ko"))
        if found:
            shutil.copy(found[0], root.folder / "modules")
    programs = {p for p in (build / "examples").iterdir() if p.is_file() and os.access(p, os.X_OK)}
    programs |= {Path(a) for t in chosen for a in t.command if Path(a).is_relative_to(build) and os.path.isfile(a)}
    root.add_programs(programs)
    for folder in "test/kernels", "test/net", "test/house", "examples":
        root.add_folder(REPOSITORY / folder, ignore=shutil.ignore_patterns("__pycache__"))
    init = root.folder / "init"
    init.write_text(INIT.format(here=REPOSITORY / "test/kernels"))
    init.chmod(0o755)
    return root


def start(work, image, accelerator, cpus):
    results = work / "results"
    results.write_bytes(b"")
    console = open(work / "console", "wb")
    cpu = "host" if accelerator == "kvm" else "max"
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", "qemu-system-x86_64", "-accel", accelerator, "-cpu", cpu, "-m", str(MEMORY_MIB),
         "-smp", str(cpus), "-kernel", image, "-initrd", work / "initramfs",
         "-append", "console=ttyS0 quiet panic=-1 no_timer_check", "-display", "none", "-no-reboot",
         "-nodefaults", "-serial", "stdio", "-serial", f"file:{results}"],
        stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)


def results_of(work):
    lines = (work / "results").read_bytes().decode(errors="replace").split("\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith("{")]


def boot(work, image, accelerator, cpus, limit, first_limit):
    """Returns the lines of the report. If the guest does not begin within first_limit, none."""
    machine = start(work, image, accelerator, cpus)
    began = time.monotonic()
    shown = 0
    try:
        while machine.poll() is None and time.monotonic() - began < limit:
            time.sleep(0.5)
            lines = results_of(work)
            if not lines and time.monotonic() - began > first_limit:
                break
            for line in lines[shown:]:
                if "name" in line:
                    print(f"{line['name']}: {'passed' if line['passed'] else 'failed'}, {line['seconds']:.1f} s", flush=True)
            shown = len(lines)
    finally:
        machine.kill()
        machine.wait()
    return results_of(work)


def check(lines, expected, work):
    """Prints what is wrong; returns whether nothing is."""
    console = (work / "console").read_text(errors="replace")[-3000:]
    complaints = []
    if not lines or "begin" not in lines[0]:
        print(f"kernels: the machine has not begun to run tests; the end of its console:\n{console}")
        return False
    if not lines[0]["begin"].startswith("6.1."):
        complaints.append(f"the kernel is {lines[0]['begin']}, not 6.1")
    results = {line["name"]: line for line in lines if "name" in line}
    for name in CANARIES:
        if results.pop(name, {"passed": True})["passed"]:
            complaints.append(f"{name} was not reported as failed")
    for name in expected:
        if name not in results:
            complaints.append(f"{name} has no result")
        elif not results[name]["passed"]:
            complaints.append(f"{name} failed with {results[name]['status']} after {results[name]['seconds']:.0f} s:\n{results[name]['output']}")
    if not any("end" in line for line in lines):
        complaints.append(f"the report has no end: a panic, or it took too long; the end of the console:\n{console}")
    for complaint in complaints:
        print(f"kernels: {lines[0]['begin']}: {complaint}")
    skipped = sum(r["output"].count(": Skipped") + r["skipped"] for r in results.values())
    passed = sum(r["passed"] and not r["skipped"] for r in results.values())
    print(f"kernels: under Linux {lines[0]['begin']}: {passed} of {len(expected)} parts passed, {skipped} tests skipped")
    for r in results.values():
        if r["skipped"]:
            print(f"kernels: {r['name']} was skipped: {r['output'].strip()}")
    return not complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=1500)
    parser.add_argument("--accelerator", choices=("kvm", "tcg"))
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--labels", default="unit,example,net")
    parser.add_argument("--tests", default="", help="only those of ctest whose names contain this regular expression")
    args = parser.parse_args()
    build = args.build.resolve()
    work = build / "kernels"
    work.mkdir(exist_ok=True)
    for tool in "qemu-system-x86_64", "cpio":
        if not shutil.which(tool):
            fail(f"there is no program {tool}")
    folder = kernel(work)
    image = next((folder / "boot").glob("vmlinuz-*"))
    chosen = [t for t in tests.of_build(build, args.labels.split(",")) if re.search(args.tests, t.name)]
    for test in chosen:
        test.environment.pop("GTEST_OUTPUT", None)
        if Path(test.command[0]).name.startswith("python"):
            test.command[0] = PYTHON
    root = make_root(work, folder, chosen, build)

    canaries = [tests.Test(name, command, [], {}, 5, 0, "/") for name, command in CANARIES.items()]
    lines, expected = [], chosen
    for accelerator in [args.accelerator] if args.accelerator else ["kvm", "tcg"]:
        if accelerator == "kvm" and not os.access("/dev/kvm", os.W_OK):
            continue
        slow = accelerator == "tcg"
        expected = [t for t in chosen if not (slow and t.name in TIMED)]
        plan = {
            "tests": [dataclasses.asdict(t) for t in [*canaries, *expected]],
            "jobs": args.cpus + 1,
            "slower": 3 if slow else 1,
            "environment": {"GTEST_FILTER": "-" + ":".join([*tests.ONE_NUMBER, *tests.LONG]), "GTEST_COLOR": "no",
                            **({"WEFT_TEST_SCALE": "10"} if slow else {})}}
        (root.folder / "plan/tests.json").write_text(json.dumps(plan))
        root.pack(work / "initramfs")
        print(f"kernels: booting {folder.name} with {accelerator}", flush=True)
        lines = boot(work, image, accelerator, args.cpus, args.limit, KVM_LIMIT if not slow else args.limit)
        if lines:
            break
        print(f"kernels: no sign of life with {accelerator}")
    return 0 if check(lines, [t.name for t in expected], work) else 1


if __name__ == "__main__":
    sys.exit(main())
