#!/usr/bin/env python3
"""assemble.py [ROOT]: src/context/*.S assembles for every object format we claim, and exports the same names in each.

Nothing is run: for macOS and Windows this is as far as a Linux machine goes. For ELF the notes are checked too: no
executable stack, and the property that says that every indirect entry is marked (IBT, BTI).
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# processor -> [(format, target, flags)]
TARGETS = {
    "x86_64": [
        ("elf", "x86_64-linux-gnu", ["-fcf-protection"]),
        ("macho", "x86_64-apple-macos11", []),
        ("coff", "x86_64-pc-windows-gnu", []),
    ],
    "aarch64": [
        ("elf", "aarch64-linux-gnu", ["-mbranch-protection=standard"]),
        ("macho", "arm64-apple-macos11", []),
        ("coff", "aarch64-pc-windows-msvc", []),
    ],
}
SYSTEM_OF_FORMAT = {"elf": "linux", "macho": "darwin", "coff": "windows"}
PROPERTY = {"x86_64": "IBT", "aarch64": "BTI"}


def formats_of(name):
    """Yields (format, target, flags) for a file, by the system and processor its name ends in."""
    stem = os.path.splitext(name)[0]
    processor = re.search(r"_(x86_64|aarch64)$", stem)
    if not processor:
        raise ValueError(f"{name}: a name that ends in no processor: x_x86_64.S or x_aarch64.S")
    system = re.search(r"_(linux|darwin|windows)$", stem[:processor.start()])
    for form, target, flags in TARGETS[processor.group(1)]:
        if system is None or SYSTEM_OF_FORMAT[form] == system.group(1):
            yield form, target, flags


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def exported(path):
    names = run("llvm-nm-19", "--defined-only", "--extern-only", "--format=just-symbols", path)
    return set(names.stdout.split())


def complaints_about(root, source, folder):
    name = os.path.basename(source)
    processor = re.search(r"_(x86_64|aarch64)\.S$", name)
    symbols = {}
    for form, target, flags in formats_of(name):
        out = os.path.join(folder, f"{name}.{form}.o")
        built = run("clang-19", f"--target={target}", *flags, f"-I{root}/src", f"-I{root}/include", "-Wall", "-Werror", "-c", source, "-o", out)
        if built.returncode != 0:
            yield f"{name} for {target}:\n{built.stdout}"
            continue
        names = exported(out)
        print(f"{name}: {target}: {os.path.getsize(out)} bytes, {len(names)} symbols")
        if not names:
            yield f"{name} for {target}: exports nothing"
        if form == "macho":
            bare = {symbol for symbol in names if not symbol.startswith("_")}
            if bare:
                yield f"{name} for {target}: without the leading underscore: {', '.join(sorted(bare))}"
            names = {symbol[1:] for symbol in names}
        symbols[target] = names
        if form == "elf":
            notes = run("llvm-readelf-19", "--sections", "--notes", out).stdout
            if ".note.GNU-stack" not in notes:
                yield f"{name} for {target}: no .note.GNU-stack: the linker would make stacks executable"
            if not re.search(rf"\b{PROPERTY[processor.group(1)]}\b", notes):
                yield f"{name} for {target}: no {PROPERTY[processor.group(1)]} property note: it switches the protection off for the program"
    if len({frozenset(names) for names in symbols.values()}) > 1:
        yield f"{name}: the formats export different names: {symbols}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(here))
    folder = os.path.join(root, "src", "context")
    sources = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".S"))
    with tempfile.TemporaryDirectory() as out:
        complaints = [complaint for source in sources for complaint in complaints_about(root, source, out)]
    if not sources:
        complaints.append("there is no assembly file in src/context")
    for complaint in complaints:
        print(complaint)
    print(f"assemble: {len(sources)} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
