"""link.py: two network namespaces, and a bad link between them.

The process that makes a Link is itself in one of the namespaces ("near", see enter()). The other
one ("far") belongs to a process that does nothing and ends when this one does, however that ends.
So nothing has to be removed. Addresses: NEAR and FAR.

VethLink is a pair of virtual Ethernet devices, of which one may be down; it injects no other
faults. NetemLink is the same with the kernel's netem, where the kernel has it. TunLink has a TUN
device at each end, and a thread in this process that forwards packets from one to the other: late,
twice, out of order, slowly, or not at all. The kernel's TCP on both sides sees no difference. Its
random decisions come from a seed.
"""
import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import threading
import time

NEAR = "10.77.0.1"
FAR = "10.77.0.2"
MTU = 1400

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLEAN = dict(delay_ms=0, jitter_ms=0, lose=0.0, double=0.0, rate_kbit=0)


class Unavailable(Exception):
    """This machine cannot do it. The message says why."""


def call(*command):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode != 0:
        raise Unavailable(f"{' '.join(command)}: {ended.stdout.strip()}")
    return ended.stdout


def enter():
    """Restarts the program in its own network namespace, unless it already is in one."""
    inside = "WEFT_NETWORK_TEST_INSIDE"
    if os.environ.get(inside) == str(os.getpid()):
        return
    if os.geteuid() != 0:
        raise Unavailable("only root may make network namespaces")
    for tool in "ip", "unshare", "nsenter", "setpriv":
        if not shutil.which(tool):
            raise Unavailable(f"there is no program {tool}")
    call("unshare", "--net", "true")
    os.environ[inside] = str(os.getpid())
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


class Link:
    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            time.sleep(0.001)
        self.in_far = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--"]
        try:
            call("ip", "link", "set", "lo", "up")
            call(*self.in_far, "ip", "link", "set", "lo", "up")
            self.open()
            for prefix, device, address in ((), self.near, NEAR), (self.in_far, self.far, FAR):
                call(*prefix, "ip", "addr", "add", f"{address}/24", "dev", device)
                call(*prefix, "ip", "link", "set", device, "mtu", str(MTU), "up")
        except BaseException:
            self.close()
            raise

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()

    def start_far(self, *command, **options):
        """Starts a program in the other namespace. It does not outlive this process."""
        return self.start_near(*self.in_far, *command, **options)

    @staticmethod
    def start_near(*command, **options):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], **options)


class VethLink(Link):
    near, far = "near0", "far0"
    has_weather = False

    def open(self):
        call("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far)
        call("ip", "link", "set", self.far, "netns", str(self.holder.pid))

    def partition(self):
        call(*self.in_far, "ip", "link", "set", self.far, "down")

    def heal(self):
        call(*self.in_far, "ip", "link", "set", self.far, "up")

    def books(self):
        return None  # the kernel keeps its own


class NetemLink(VethLink):
    has_weather = True

    def open(self):
        super().open()
        try:
            self.set()
        except Unavailable as e:
            raise Unavailable(f"no sch_netem ({e})") from e

    def set(self, **weather):
        w = {**CLEAN, **weather}
        netem = ["netem", "limit", "10000", "delay", f"{w['delay_ms']}ms", f"{w['jitter_ms']}ms"]
        netem += ["loss", f"{100 * w['lose']}%"] if w["lose"] else []
        netem += ["duplicate", f"{100 * w['double']}%"] if w["double"] else []
        netem += ["rate", f"{w['rate_kbit']}kbit"] if w["rate_kbit"] else []
        for prefix, device in ((), self.near), (self.in_far, self.far):
            call(*prefix, "tc", "qdisc", "replace", "dev", device, "root", *netem)

    def partition(self):
        for prefix, device in ((), self.near), (self.in_far, self.far):
            call(*prefix, "tc", "qdisc", "replace", "dev", device, "root", "netem", "loss", "100%")

    def heal(self):
        self.set()


class TunLink(Link):
    near, far = "near0", "far0"
    has_weather = True

    def open(self):
        self.lock = threading.Lock()
        self.weather = dict(CLEAN)
        self.apart = False
        self.random = random.Random(1)
        self.held = []  # (when, number, direction, packet): a heap
        self.free_at = [0.0, 0.0]
        self.latest = [0, 0]
        self.count = dict(taken=0, lost=0, doubled=0, passed=0, overtaken=0)
        self.ends = [self.device(self.near), self.device(self.far)]
        call("ip", "link", "set", self.far, "netns", str(self.holder.pid))
        self.wake_read, self.wake_write = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @staticmethod
    def device(name):
        try:
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        except OSError as e:
            raise Unavailable(f"no TUN devices ({e})") from e
        return fd

    def close(self):
        if hasattr(self, "thread"):
            os.write(self.wake_write, b"x")
            self.thread.join()
            for fd in (*self.ends, self.wake_read, self.wake_write):
                os.close(fd)
        super().close()

    def set(self, **weather):
        with self.lock:
            self.weather = {**CLEAN, **weather}

    def partition(self):
        with self.lock:
            self.apart = True

    def heal(self):
        with self.lock:
            self.apart = False
            self.weather = dict(CLEAN)

    def books(self):
        with self.lock:
            return dict(self.count)

    def run(self):
        while True:
            timeout = max(0.0, self.held[0][0] - time.monotonic()) if self.held else None
            ready, _, _ = select.select([*self.ends, self.wake_read], [], [], timeout)
            if self.wake_read in ready:
                return
            with self.lock:
                for direction in 0, 1:
                    self.take(direction)
                self.pass_on()

    def take(self, direction):
        while True:
            try:
                packet = os.read(self.ends[direction], 65536)
            except OSError:  # none, or the device is down
                return
            w = self.weather
            self.count["taken"] += 1
            number = self.count["taken"]
            if self.apart or self.random.random() < w["lose"]:
                self.count["lost"] += 1
                continue
            now = time.monotonic()
            copies = 2 if self.random.random() < w["double"] else 1
            self.count["doubled"] += copies - 1
            if w["rate_kbit"]:
                self.free_at[direction] = max(now, self.free_at[direction]) + len(packet) / (w["rate_kbit"] * 125)
                now = self.free_at[direction]
            for _ in range(copies):
                late = (w["delay_ms"] + self.random.random() * w["jitter_ms"]) / 1000
                heapq.heappush(self.held, (now + late, number, direction, packet))

    def pass_on(self):
        now = time.monotonic()
        while self.held and self.held[0][0] <= now:
            _, number, direction, packet = heapq.heappop(self.held)
            if self.apart:
                self.count["lost"] += 1
                continue
            self.count["overtaken"] += number < self.latest[direction]
            self.latest[direction] = max(self.latest[direction], number)
            self.count["passed"] += 1
            try:
                os.write(self.ends[1 - direction], packet)
            except OSError:  # the device is down, or full: links drop packets then
                self.count["lost"] += 1
