"""common.py: what the tests of package forms share: commands, a copy of the sources, and hello."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HELLO = os.path.join(ROOT, "packaging", "conan", "test_package", "hello.cc")
HELLO_PRINTS = "hello from a package\n"
ONLY_CORE = ["-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF", "-DWEFT_BUILD_BENCH=OFF", "-DWEFT_TLS=OFF", "-DWEFT_ASIO=OFF", "-DWEFT_OBSERVE=OFF"]
JOBS = os.environ.get("WEFT_PACKAGE_JOBS") or str(os.cpu_count() or 1)


def run(*command, **more):
    print("+ " + " ".join(command), flush=True)
    return subprocess.run(command, check=True, **more)


def output_of(*command, **more):
    return run(*command, stdout=subprocess.PIPE, text=True, **more).stdout


def fail(text):
    raise SystemExit(f"{os.path.basename(sys.argv[0])}: {text}")


def check_hello(printed, by):
    if printed != HELLO_PRINTS:
        fail(f"hello {by} printed {printed!r}")
    print(f"hello {by}: ran", flush=True)


def version():
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("## ["):
                return line[4:].partition("]")[0]
    raise SystemExit("CHANGELOG.md has no version")


def own_files():
    """The files of the repository, relative to it: those that git knows or would add, or in a tree without git all but build/."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        return [path for path in listed.stdout.splitlines() if os.path.exists(os.path.join(ROOT, path))]
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return sorted(found)


def copy_sources(to):
    for path in own_files():
        target = os.path.join(to, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, path), target)


def tagged_repository(folder):
    """Makes a git repository with the files of this one, and the tag of its version."""
    copy_sources(folder)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    run("git", "init", "--quiet", folder)
    run("git", "-C", folder, "add", "--all")
    run("git", "-C", folder, *who, "commit", "--quiet", "--message", "Release")
    run("git", "-C", folder, *who, "tag", "v" + version())
    return folder


def virtual_environment(folder, *packages):
    """Makes or completes one, and returns the folder of its programs."""
    programs = os.path.join(folder, "bin")
    done = os.path.join(folder, "packages")
    wanted = " ".join(packages)
    if os.path.exists(done):
        with open(done, encoding="utf-8") as file:
            if file.read() == wanted:
                return programs
    run(sys.executable, "-m", "venv", "--clear", folder)
    run(os.path.join(programs, "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    with open(done, "w", encoding="utf-8") as file:
        file.write(wanted)
    return programs
