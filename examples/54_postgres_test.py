#!/usr/bin/env python3
"""54_postgres_test.py PROGRAM: runs the example with a server of its own, and compares what it prints."""
import os
import subprocess
import sys
from pathlib import Path

import postgres_client_test as servers

if __name__ == "__main__":
    if servers.server_programs() is None or servers.server_user() is None:
        servers.left_out("no PostgreSQL server, or no user that may run it; run: apt-get install postgresql")
    server = servers.PostgresServer()
    try:
        ended = subprocess.run([os.path.abspath(sys.argv[1]), server.at()], capture_output=True, text=True, timeout=servers.PATIENCE)
    finally:
        server.close()
    expected = Path(__file__).with_name("54_postgres.expected").read_text()
    print(ended.stdout, end="")
    print(ended.stderr, end="", file=sys.stderr)
    sys.exit(0 if ended.returncode == 0 and ended.stdout == expected else 1)
