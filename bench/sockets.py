"""One measurement over sockets: starts a peer's server, loads it with the client, and ends it.

Where there are CPUs for it, the server and the client are pinned apart: the last CPU is the client's, and the server has P of the
others, or what there is. With two CPUs that is one, whatever P is.
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import urllib.request

START_TIMEOUT_S = 10
WRK_WARMUP_S = 1
# Of the two loads between which system calls are counted.
COUNTED_MS = (100, 300)
CLIENT_TIMEOUT_S = 60
# Under strace a call takes so many times as long, so that a rate which is to be the same share of the possible is less.
STRACE_SLOWDOWN = 20


class Failure(Exception):
    """Why there is no figure."""


def cpus_of(load, p):
    """(the server's, the client's)."""
    every = sorted(os.sched_getaffinity(0))
    if load.shared or len(every) < 2:
        return set(every), set(every)
    return set(every[:-1][:p]), {every[-1]}


def apart(load):
    return not load.shared and len(os.sched_getaffinity(0)) > 1


def pinned(cpus):
    return lambda: os.sched_setaffinity(0, cpus)


@contextlib.contextmanager
def serving(program, row, p, environment):
    """The server, as a process and what it said of itself."""
    with tempfile.TemporaryDirectory() as folder:
        listen = f"unix:{folder}/echo" if row.load.unix else "tcp"
        command = [program, row.workload, "--p", str(p), "--listen", listen, "--buffer", str(row.load.buffer)]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                                  preexec_fn=pinned(cpus_of(row.load, p)[0]))
        try:
            if not select.select([server.stdout], [], [], START_TIMEOUT_S)[0]:
                raise Failure(f"the server did not start within {START_TIMEOUT_S} s")
            try:
                said = json.loads(server.stdout.readline())
            except ValueError as error:
                raise Failure(f"the server did not start: {error}") from error
            yield server, said
        finally:
            server.stdin.close()
            server.stdout.close()
            try:
                server.wait(START_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def output_of(command, cpus):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CLIENT_TIMEOUT_S, check=False, preexec_fn=pinned(cpus))
    except subprocess.TimeoutExpired as error:
        raise Failure(f"the client did not finish within {CLIENT_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise Failure(f"the client: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def cpu_seconds(pid):
    """Of all threads of a process."""
    total = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((thread / "schedstat").read_text(encoding="utf-8").split()[0])
    return total / 1e9


# Echo.


def echo_command(client, load, server, address, **changed):
    settings = {"connections": load.connections, "payload": load.payload, "rate": load.rate, "idle": load.idle, "rest_ms": load.rest_ms,
                "ms": load.ms, "spin": int(apart(load)), **changed}
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return [client, "--address", address, "--server_pid", str(server.pid), *words]


def load_with_echoes(client, load, server, address, cpus):
    return json.loads(output_of(echo_command(client, load, server, address), cpus))


# HTTP.

IN_US = {"us": 1, "ms": 1000, "s": 1_000_000}


def wrk_command(client, load, address, seconds):
    return [client, "--threads", "1", "--connections", str(load.connections), "--duration", f"{seconds:.0f}s", "--latency",
            f"http://{address}/"]


def check_answer(address):
    with urllib.request.urlopen(f"http://{address}/", timeout=START_TIMEOUT_S) as answer:
        if answer.read() != b"Hello, world!\n" or "Date" not in answer.headers:
            raise Failure("the server sent a wrong answer: not the expected text, or no Date field")


def load_with_requests(client, load, server, address, cpus):
    """By wrk. Its own latencies: from when it has sent a request, a closed loop."""
    check_answer(address)
    output_of(wrk_command(client, load, address, WRK_WARMUP_S), cpus)
    cpu = cpu_seconds(server.pid)
    said = output_of(wrk_command(client, load, address, load.ms / 1000), cpus)
    cpu = cpu_seconds(server.pid) - cpu
    total = re.search(r"(\d+) requests in ([\d.]+)s", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if total is None or rate is None or int(total[1]) == 0 or re.search(r"Socket errors|Non-2xx", said):
        raise Failure(f"wrk: {said.strip()[-300:]}")
    line = {"requests": int(total[1]), "requests_per_s": float(rate[1]), "us_per_op": 1e6 / float(rate[1]), "cpu_us": 1e6 * cpu / int(total[1])}
    for name, share in (("p50_us", "50%"), ("p99_us", "99%")):
        found = re.search(rf"^\s*{share}\s+([\d.]+)(us|ms|s)$", said, re.MULTILINE)
        line[name] = float(found[1]) * IN_US[found[2]]
    return line


def load_server(client, row, server, address, cpus):
    load = load_with_requests if row.workload == "http" else load_with_echoes
    return load(client, row.load, server, address, cpus)


# System calls.


@functools.cache
def perf_counts():
    if shutil.which("perf") is None:
        return False
    tried = subprocess.run(["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "true"], capture_output=True, text=True, check=False)
    return tried.returncode == 0 and re.search(r"^[1-9]\d*,", tried.stderr, re.MULTILINE) is not None


def calls_during(server, command, cpus):
    """(what the command printed, how many system calls the server made meanwhile)."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as table:
        if perf_counts():
            counting = ["perf", "stat", "-x,", "-o", table.name, "-e", "raw_syscalls:sys_enter", "-p", str(server.pid), "--"]
            said = output_of([*counting, *command], cpus)
            return said, int(re.search(r"^(\d+),", table.read(), re.MULTILINE)[1])
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", table.name, "-p", str(server.pid)], stderr=subprocess.PIPE, text=True)
        try:
            tracer.stderr.readline()  # "attached"
            said = output_of(command, cpus)
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        counted = re.search(r"^\s*100\.00\s+[\d.]+\s+(?:\d+\s+)?(\d+)\s+(?:\d+\s+)?total$", table.read(), re.MULTILINE)
        return said, int(counted[1])


def system_calls(program, client, row, p, environment):
    """For each request, by the difference between a short and a longer load; None where they cannot be counted."""
    if not perf_counts() and shutil.which("strace") is None:
        return None
    load, (_, cpus) = row.load, cpus_of(row.load, p)
    calls, requests = [], []
    with serving(program, row, p, environment) as (server, said):
        for ms in COUNTED_MS:
            if row.workload == "http":
                command = wrk_command(client, load, said["address"], ms // COUNTED_MS[0])
                pattern = r"(\d+) requests in"
            else:
                rate = load.rate if perf_counts() else load.rate // STRACE_SLOWDOWN
                command = echo_command(client, load, server, said["address"], rate=rate, ms=ms, idle=0, rest_ms=0)
                pattern = r'"answered":(\d+)'
            printed, count = calls_during(server, command, cpus)
            calls.append(count)
            requests.append(int(re.search(pattern, printed)[1]))
    return (calls[1] - calls[0]) / (requests[1] - requests[0])


# All of it.


def measure(program, client, row, p, environment):
    """The metrics of one run, or Failure."""
    with serving(program, row, p, environment) as (server, said):
        line = load_server(client, row, server, said["address"], cpus_of(row.load, p)[1])
    return {"peer": said["peer"], "version": said["version"], "workload": row.workload, "p": p, **line}


def count(program, client, row, p, environment):
    """System calls for each request, or None; a failure to count is not one of the server's."""
    try:
        return system_calls(program, client, row, p, environment)
    except (Failure, TypeError, ZeroDivisionError) as error:
        print(f"  system calls of {row.id}, P={p}, were not counted: {error}", flush=True)
        return None
