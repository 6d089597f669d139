#!/usr/bin/env python3
"""postgres_client_test.py PROGRAM: tests the PostgreSQL client with its own server, and with fake ones."""
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from held_port import hold_port, port_of

PROGRAM = ""
PATIENCE = 100  # seconds; normally milliseconds are enough


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.005)


def server_programs():
    """Returns the folder of initdb and postgres, or None. Debian installs them outside of PATH."""
    found = shutil.which("initdb")
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: float(p.split("/")[4])) + ([os.path.dirname(found)] if found else [])
    return next((f for f in reversed(folders) if os.access(f + "/initdb", os.X_OK) and os.access(f + "/postgres", os.X_OK)), None)


def server_user():
    """Returns a command prefix that runs the server as an unprivileged user, or None if there is no way.

    The server refuses to run as root.
    """
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return None
    return ["runuser", "-u", "postgres", "--"] if shutil.which("runuser") else None


class PostgresServer:
    """A real server with its own cluster: on a Unix socket, and on a port, there with TLS if openssl exists."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.held = hold_port()
        self.port = port_of(self.held)
        self.path = self.folder.name
        if os.geteuid() == 0:
            shutil.chown(self.path, "postgres")
        data = self.data = self.path + "/data"
        self.run("initdb", "--no-sync", "--auth=trust", "--username=owner", "--encoding=UTF8", "--locale=C", "-D", data, stdout=subprocess.DEVNULL)
        Path(data, "pg_hba.conf").write_text("local all all trust\nhost all guest 127.0.0.1/32 scram-sha-256\nhost all all samehost trust\n")
        self.has_tls = shutil.which("openssl") is not None
        if self.has_tls:
            subprocess.run([*server_user(), "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{data}/server.key", "-out",
                            f"{data}/server.crt", "-days", "2", "-subj", "/CN=localhost"], check=True, stderr=subprocess.DEVNULL, cwd="/")
            os.chmod(f"{data}/server.key", 0o600)
        self.start()

    def run(self, program, *arguments, **options):
        subprocess.run([*server_user(), f"{server_programs()}/{program}", *arguments], check=True, cwd="/", **options)

    def start(self):
        self.run("pg_ctl", "start", "-w", "-s", "-D", self.data, "-l", f"{self.path}/log", "-o",
                 f"-p {self.port} -k {self.path} -c listen_addresses=localhost -c fsync=off -c max_connections=40 "
                 f"-c shared_buffers=16MB {'-c ssl=on' if self.has_tls else ''}")

    def stop(self):
        """Stops the server immediately, as if it had crashed."""
        self.run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", self.data)

    def at(self, how=""):
        return f"host={self.path} port={self.port} user=owner dbname=postgres {how}"

    def by_tcp(self, host="localhost", how=""):
        return f"host={host} port={self.port} user=owner dbname=postgres {how}"

    def wait_for_load(self):
        """Waits until the load has created its accounts and moved some money."""
        def moved():
            return run("query", "SELECT count(*) > 0 FROM bank_accounts WHERE balance <> 1000", server=self.at()).stdout.startswith("t")
        eventually(moved, "money is moved")

    def ask(self, sql, *parameters):
        """Returns the first value of the answer."""
        got = run("query", sql, *parameters, server=self.at())
        if got.returncode:
            raise AssertionError(f"{sql}: {got.stderr}")
        return got.stdout.split("\n")[0].split("\t")[0]

    def close(self):
        self.stop()
        self.held.close()
        self.folder.cleanup()


def command_line(*words, server, flags=()):
    return [PROGRAM, f"--server={server}", f"--connect-time={PATIENCE}", f"--call-time={PATIENCE}", *flags, *words]


def run(*words, server, flags=(), **options):
    return subprocess.run(command_line(*words, server=server, flags=flags), capture_output=True, text=True, timeout=PATIENCE, **options)


class Background:
    """The program, running in the background. Its output lines are available as it writes them."""

    def __init__(self, *words, server, flags=(), words_in=""):
        self.process = subprocess.Popen(command_line(*words, server=server, flags=flags), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.process.stdin.write(words_in)
        self.process.stdin.close()
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def wait_for(self, pattern, count=1):
        def found():
            if self.process.poll() is not None and sum(bool(re.search(pattern, line)) for line in self.lines) < count:
                raise AssertionError(f"it has ended without {pattern!r}: {self.lines} {self.process.stderr.read()}")
            return sum(bool(re.search(pattern, line)) for line in self.lines) >= count
        eventually(found, f"{pattern!r} in {self.lines}")

    def end(self, how=signal.SIGTERM):
        if how is not None:
            self.process.send_signal(how)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join()
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.wait()


class Case(unittest.TestCase):
    def ends(self, got, status, out, err=""):
        self.assertEqual((got.returncode, got.stdout, got.stderr), (status, out, err))


def numbers(line):
    """Returns the numbers of a line: done, repeated, late, failed."""
    return list(map(int, re.findall(r"\d+", line)))


RUNNING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%marked%' AND pid <> pg_backend_pid()"


class Real(Case):
    def test_each_way_to_connect(self):
        for at in (SERVER.at(), SERVER.by_tcp(), SERVER.by_tcp("127.0.0.1"), SERVER.by_tcp("nowhere.invalid,127.0.0.1"), SERVER.at("sslmode=disable"),
                   f"postgresql://localhost:{SERVER.port}/postgres?user=owner", SERVER.by_tcp("ignored", "hostaddr=127.0.0.1")):
            with self.subTest(at):
                self.ends(run("query", "SELECT 'here'", server=at), 0, "here\n(SELECT 1)\n")
        environment = {**os.environ, "PGHOST": "localhost", "PGPORT": str(SERVER.port), "PGUSER": "owner", "PGDATABASE": "postgres"}
        self.ends(run("query", "SELECT 'here'", server="application_name=x", env=environment), 0, "here\n(SELECT 1)\n")

    def test_tls(self):
        if not SERVER.has_tls:
            self.skipTest("no openssl to make a certificate with; run: apt-get install openssl")
        secured = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        self.ends(run("query", secured, server=SERVER.by_tcp("localhost", "sslmode=require")), 0, "t\n(SELECT 1)\n")
        large = "SELECT repeat('x', 1000000) FROM generate_series(1, 5)"
        got = run("query", large, server=SERVER.by_tcp("localhost", "sslmode=require"))
        self.assertEqual((got.returncode, len(got.stdout)), (0, 5 * 1_000_001 + len("(SELECT 5)\n")))
        trusted = f"sslmode=verify-full sslrootcert={SERVER.data}/server.crt"
        self.ends(run("query", secured, server=SERVER.by_tcp("localhost", trusted)), 0, "t\n(SELECT 1)\n")
        got = run("query", secured, server=SERVER.by_tcp("127.0.0.1", trusted))
        self.assertEqual(got.returncode, 1)
        self.assertIn('does not match host name "127.0.0.1"', got.stderr)

    def test_password(self):
        SERVER.ask("CREATE ROLE guest LOGIN PASSWORD 'secret'")
        at = f"host=127.0.0.1 port={SERVER.port} user=guest dbname=postgres"
        self.ends(run("query", "SELECT 1", server=f"{at} password=secret"), 0, "1\n(SELECT 1)\n")
        for wrong in "", " password=wrong":
            got = run("query", "SELECT 1", server=at + wrong)
            self.assertEqual((got.returncode, got.stdout), (1, ""))
            self.assertRegex(got.stderr, "^postgres_client: cannot connect: .*(no password supplied|password authentication failed)")

    def test_answers(self):
        self.ends(run("query", "SELECT i, NULL, $1 || i FROM generate_series(1, 3) i", "it's ", server=SERVER.at()), 0,
                  "1\t(null)\tit's 1\n2\t(null)\tit's 2\n3\t(null)\tit's 3\n(SELECT 3)\n")
        self.ends(run("query", "SELECT $1::text", "'; DROP TABLE x; --", server=SERVER.at()), 0, "'; DROP TABLE x; --\n(SELECT 1)\n")
        self.ends(run("query", "SELECT WHERE false", server=SERVER.at()), 0, "(SELECT 0)\n")
        self.ends(run("query", "", server=SERVER.at()), 0, "()\n")

    def test_rows_come_one_by_one(self):
        got = run("query", "SELECT repeat('x', 1000) FROM generate_series(1, 20000)", server=SERVER.at())
        self.assertEqual((got.returncode, len(got.stdout)), (0, 20000 * 1001 + len("(SELECT 20000)\n")))

    def test_errors(self):
        self.ends(run("query", "SELEC", server=SERVER.at()), 1, "", 'postgres_client: the server says: syntax error at or near "SELEC" (42601)\n')
        got = run("query", "SELECT 1 / (3 - i) FROM generate_series(1, 3) i", server=SERVER.at())
        self.ends(got, 1, "0\n1\n", "postgres_client: the server says: division by zero (22012)\n")
        for copy in "COPY (SELECT 1) TO STDOUT", "COPY pg_class FROM STDIN":
            self.ends(run("query", copy, server=SERVER.at()), 1, "", "postgres_client: this program does not support COPY\n")

    def test_a_batch_is_done_all_together_or_not_at_all(self):
        SERVER.ask("CREATE TABLE batched (i int PRIMARY KEY)")
        good = "".join(f"INSERT INTO batched VALUES ({i})\n" for i in range(1000)) + "SELECT count(*) FROM batched\n"
        got = run("batch", server=SERVER.at(), input=good)
        self.ends(got, 0, "(INSERT 0 1)\n" * 1000 + "1000\n(SELECT 1)\n")
        bad = "INSERT INTO batched VALUES (1000)\nINSERT INTO batched VALUES (1)\nSELECT 'never'\n"
        self.ends(run("batch", server=SERVER.at(), input=bad), 1, "",
                  'postgres_client: the server says: duplicate key value violates unique constraint "batched_pkey" (23505)\n')
        self.assertEqual(SERVER.ask("SELECT count(*) FROM batched"), "1000")

    def test_a_batch_whose_answers_and_questions_do_not_fit_into_any_buffer(self):
        got = run("batch", server=SERVER.at(), input=f"SELECT repeat('y', 100000), '{'z' * 100_000}'\n" * 100)
        self.assertEqual((got.returncode, len(got.stdout)), (0, 100 * (200_002 + len("(SELECT 1)\n"))))

    def test_what_takes_too_long_is_stopped_in_the_server_too(self):
        late = "postgres_client: no answer in time: --call-time sets the limit\n"
        self.ends(run("query", "SELECT pg_sleep(1000) AS marked", server=SERVER.at(), flags=["--call-time=0.3"]), 1, "", late)
        self.assertEqual(SERVER.ask(RUNNING), "0")
        self.ends(run("batch", server=SERVER.at(), flags=["--call-time=0.3"], input="SELECT 1\nSELECT pg_sleep(1000) AS marked\nSELECT 2\n"), 1, "", late)
        self.assertEqual(SERVER.ask(RUNNING), "0")

    def test_many_clients_share_few_connections(self):
        got = run("load", server=SERVER.at("application_name=few"), flags=["--connections=4", "--call-time=100"])
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        done, _, late, failed = numbers(got.stdout)
        self.assertEqual((done, late, failed), (1000, 0, 0))
        self.assertIn("the sum is right", got.stdout)

    def test_clients_that_are_in_each_others_way_try_again(self):
        got = run("load", server=SERVER.at(), flags=["--connections=8", "--accounts=2", "--clients=4", "--rounds=8", "--call-time=100"])
        done, repeated, late, failed = numbers(got.stdout)
        self.assertEqual((done + failed, late), (32, 0))
        self.assertGreater(repeated, 0)
        self.assertIn("the sum is right", got.stdout)

    def test_a_transaction_that_is_late_leaves_nothing_behind(self):
        load = Background("load", server=SERVER.at(), flags=["--connections=4", "--rounds=200", "--clients=20", "--call-time=0.3"])
        SERVER.wait_for_load()
        run("batch", server=SERVER.at(), input="BEGIN\nLOCK TABLE bank_accounts\nSELECT pg_sleep(0.7)\nCOMMIT\n")
        load.end(how=None)
        done, _, late, failed = numbers(load.lines[0])
        self.assertEqual(done + late + failed, 4000)
        self.assertGreater(late, 0)
        self.assertIn("the sum is right", load.lines[0])
        self.assertEqual(SERVER.ask("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"), "0")

    def test_notifications(self):
        listener = Background("listen", "one", 'T"wo', server=SERVER.at())
        listener.wait_for("^listening$")
        run("batch", server=SERVER.at(), input="".join(f"SELECT pg_notify('{('one', 'T' + chr(34) + 'wo')[i % 2]}', 'message {i}')\n" for i in range(100)))
        SERVER.ask("NOTIFY one, 'the last'")
        listener.wait_for("the last")
        self.assertEqual(listener.end(signal.SIGINT), 0)
        self.assertEqual(listener.lines[1:], [f"{('one', 'T' + chr(34) + 'wo')[i % 2]}: message {i}\n" for i in range(100)] + ["one: the last\n"])

    def test_a_listener_that_is_cut_off_comes_back(self):
        listener = Background("listen", "news", server=SERVER.at("application_name=listener"), flags=["--silence=0.1"])
        listener.wait_for("^listening$")
        time.sleep(0.3)  # the client checks the server several times
        self.assertEqual(listener.lines, ["listening\n"])
        SERVER.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'")
        listener.wait_for("^not listening: the connection is lost: ")
        listener.wait_for("^listening$", 2)
        SERVER.ask("NOTIFY news, 'again'")
        listener.wait_for("^news: again$")
        self.assertEqual(listener.end(), 0)

    def test_a_server_that_falls_silent(self):
        listener = Background("listen", "news", server=SERVER.at("application_name=silent"), flags=["--silence=0.2", "--cancel-time=0.2", "--connect-time=100"])
        listener.wait_for("^listening$")
        pid = int(SERVER.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'silent'"))
        os.kill(pid, signal.SIGSTOP)
        try:
            listener.wait_for("^not listening: the server no longer answers$")
        finally:
            os.kill(pid, signal.SIGCONT)
        listener.wait_for("^listening$", 2)
        self.assertEqual(listener.end(), 0)

    def test_a_server_that_crashes_under_load_and_comes_back(self):
        load = Background("load", server=SERVER.by_tcp("127.0.0.1", "application_name=load"), flags=["--rounds=200", "--clients=20", "--call-time=100"])
        SERVER.wait_for_load()
        # The lock blocks all clients until the server stops, however slow that is.
        locker = Background("batch", server=SERVER.at(), flags=["--call-time=100"], words_in="BEGIN\nLOCK TABLE bank_accounts\nSELECT pg_sleep(1000)\n")
        locked = "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' AND relation = 'bank_accounts'::regclass"
        eventually(lambda: SERVER.ask(locked) == "1", "the table is locked")
        eventually(lambda: SERVER.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", "there is load")
        SERVER.stop()
        locker.end(how=None)
        SERVER.start()
        self.assertEqual(load.end(how=None), 1)
        done, _, late, failed = numbers(load.lines[0])
        self.assertEqual((done + failed, late), (4000, 0))
        self.assertGreater(failed, 0)
        self.assertGreater(done, 0)
        self.assertIn("the sum is right", load.lines[0])


class NoServer(Case):
    """The listener is not a PostgreSQL server."""

    def listener(self, piece, stay=False):
        s = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(s.close)

        def serve():
            with s.accept()[0] as c:
                c.recv(1000)
                c.sendall(piece)
                if stay:
                    c.recv(1000)
        t = threading.Thread(target=serve)
        t.start()
        self.addCleanup(t.join)
        return f"host=127.0.0.1 port={port_of(s)} sslmode=disable"

    def test_no_connection(self):
        held = hold_port()
        self.addCleanup(held.close)
        for at, why in ((f"host=127.0.0.1 port={port_of(held)}", "Connection refused"), ("host=/nowhere", "No such file or directory"),
                        ("host=nowhere.invalid", "no address for nowhere.invalid"), ("nonsense", "invalid connection string"),
                        ("host=a,b port=1,2,3", "the number of ports must be one"), (self.listener(b""), "server closed the connection"),
                        (self.listener(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "expected authentication request")):
            with self.subTest(at):
                got = run("query", "SELECT 1", server=at)
                self.assertEqual((got.returncode, got.stdout), (1, ""))
                self.assertRegex(got.stderr, f"^postgres_client: cannot connect: (.|\n)*{why}")

    def test_it_says_nothing(self):
        got = run("query", "SELECT 1", server=self.listener(b"R", stay=True), flags=["--connect-time=0.1"])
        self.ends(got, 1, "", "postgres_client: cannot connect: the server does not answer in time; --connect-time sets the limit\n")


class CommandLine(Case):
    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in ((["--frobnicate"], 'unknown flag "--frobnicate"'), (["--server"], "--server=VALUE needs a value"),
                                     (["--clients=0", "load"], '--clients needs a whole number from 1 to 1000000, not "0"'),
                                     ([], 'unknown command ""'), (["dance"], 'unknown command "dance"'),
                                     (["query"], "query needs an argument"), (["load", "x"], "load takes no arguments")):
            ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: postgres_client", ended.stderr)

    def test_help_names_all_flags(self):
        ended = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "postgres_client" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)


def left_out(why):
    print(f"left out: {why}")
    sys.exit(77)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    if server_programs() is None:
        left_out("no PostgreSQL server; run: apt-get install postgresql")
    if server_user() is None:
        left_out("a PostgreSQL server is not run by root, and there is no user postgres, or no runuser: run this as somebody else")
    SERVER = PostgresServer()
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
    finally:
        SERVER.close()
