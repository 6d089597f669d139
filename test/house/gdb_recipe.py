#!/usr/bin/env python3
"""gdb_recipe.py PROGRAM [PAGE]: the recipes for gdb in docs/debugging.md list the parked green
threads of a program.

They are taken from the page and run under gdb, in a process that stops at a known place. The recipe
for core files only reads memory, so it runs there too. Exits with 77 if there is no gdb, or if it
may not trace processes here.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HEADING = "## gdb"
# Each green thread that is parked, and a function that its stack must show.
EXPECTED = {"server": "serve", "sleeper": "rest"}
STARTED = "the recipe begins here"


def recipes(page):
    """The Python blocks of the section: the whole recipe for a live process, and its last part for
    a core file.
    """
    with open(page, encoding="utf-8") as file:
        text = file.read()
    section = text[text.index(f"\n{HEADING}\n"):]
    end = section.find("\n## ", 1)
    blocks = re.findall(r"^```python\n(.*?)^```$", section[:end], re.MULTILINE | re.DOTALL)
    if len(blocks) != 2:
        raise SystemExit(f"{page}: {len(blocks)} Python blocks under \"{HEADING}\", not 2: one for processes, one for core files")
    live, core = blocks
    loop = live.index("\nfor g in parked():")
    return {"process": live, "core": live[:loop] + "\n" + core}


def run_gdb(program, recipe, folder):
    path = os.path.join(folder, "recipe.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(recipe)
    commands = ["set confirm off", "set pagination off", "set debuginfod enabled off", "handle SIGURG nostop noprint pass",
                "break stop_here", "run", f"echo {STARTED}\\n", f"source {path}", "kill"]
    arguments = [argument for command in commands for argument in ("-ex", command)]
    done = subprocess.run(["gdb", "--batch", "-nx", *arguments, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, timeout=100)
    return done.stdout


def complaints(kind, said):
    before, started, listed = said.partition(STARTED)
    if not started or "Breakpoint 1, " not in before:
        yield f"{kind}: the program did not stop in stop_here"
        return
    # A green thread's stack is the text from its line to that of the next one.
    parts = re.split(r"^green thread (\d+) (.*)$", listed, flags=re.MULTILINE)
    stacks = dict(zip(parts[2::3], parts[3::3]))
    if sorted(stacks) != sorted(EXPECTED):
        yield f"{kind}: it lists {sorted(stacks)}, not {sorted(EXPECTED)}"
    for name, function in EXPECTED.items():
        if not re.search(rf"\b{function}\b", stacks.get(name, "")):
            yield f"{kind}: the stack of {name} does not show {function}"
        if "run_context_entry" not in stacks.get(name, ""):
            yield f"{kind}: the stack of {name} is not shown down to its first frame, run_context_entry"
    if "Error" in listed or "Traceback" in listed:
        yield f"{kind}: it reports an error"


def main():
    program = sys.argv[1]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    page = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "docs", "debugging.md")
    if shutil.which("gdb") is None:
        print("skipped: there is no gdb")
        return SKIPPED
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind, recipe in recipes(page).items():
            said = run_gdb(program, recipe, folder)
            if re.search(r"ptrace: Operation not permitted|Could not trace the inferior process", said):
                print("skipped: gdb may not trace processes here")
                return SKIPPED
            found = list(complaints(kind, said))
            for complaint in found:
                print(complaint)
            if found:
                print(said)
                failed = True
    print(f"gdb_recipe: {'FAILED' if failed else 'both recipes list the parked green threads'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
