#!/usr/bin/env python3
"""tarball.py FOLDER: writes the release tarball weft-VERSION.tar.gz into FOLDER.

It has all files of the repository, in the folder weft-VERSION. The same files give the same bytes:
owners, permissions and times are fixed (SOURCE_DATE_EPOCH, else the time of the last commit, else 0).
"""
import gzip
import os
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "test", "packages"))
import common  # noqa: E402


def time_of_release():
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=common.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return int(shown.stdout) if shown.returncode == 0 and shown.stdout.strip() else 0


def main():
    name = f"weft-{common.version()}"
    path = os.path.join(sys.argv[1], name + ".tar.gz")
    when = time_of_release()

    def settled(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = when
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    os.makedirs(sys.argv[1], exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=when) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for entry in sorted(common.own_files()):
                archive.add(os.path.join(common.ROOT, entry), arcname=f"{name}/{entry}", recursive=False, filter=settled)
    print(path)


if __name__ == "__main__":
    main()
