#!/usr/bin/env python3
"""assemble.py [ROOT]: src/context/*.S assembles for every supported object format, and exports the
same names in each.

Nothing runs here. For macOS this is all that a Linux machine can check; a unit test runs the switch
for Windows (windows_switch_x86_64_test.cc). For ELF the notes are checked too: no executable stack,
and the property that every indirect entry is marked (IBT, BTI). For Windows, the switch must save
what its calling convention and its thread information block require, load all of it again, and have
unwind information.
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
        ("elf", "x86_64-unknown-freebsd14", ["-fcf-protection"]),
        ("macho", "x86_64-apple-macos11", []),
        ("coff", "x86_64-pc-windows-gnu", []),
    ],
    "aarch64": [
        ("elf", "aarch64-linux-gnu", ["-mbranch-protection=standard"]),
        ("macho", "arm64-apple-macos11", []),
    ],
    "riscv64": [("elf", "riscv64-linux-gnu", [])],
}
# Systems and groups of them at the ends of names, as in cmake/weft_sources.cmake.
SYSTEMS_OF_FORMAT = {"elf": ("linux", "posix"), "macho": ("darwin", "bsd", "posix"), "coff": ("windows",)}
SYSTEMS = "linux|darwin|freebsd|windows|bsd|posix"
PROPERTY = {"x86_64": "IBT", "aarch64": "BTI"}
PROCESSORS = "|".join(TARGETS)

# What Windows' switch must save on the stack it leaves, and load from the one it enters: patterns
# of instructions.
WINDOWS_SWITCH = "run_context_switch"
WINDOWS_INTEGERS = ["%rbx", "%rbp", "%rdi", "%rsi", "%r12", "%r13", "%r14", "%r15", "%gs:0x8", "%gs:0x10", "%gs:0x1478"]
WINDOWS_VECTORS = [f"%xmm{number}" for number in range(6, 16)]


def formats_of(name, names):
    """Yields (format, target, flags) for a file, by the system and processor at the end of its
    name. names: of all files in its folder.
    """
    stem = os.path.splitext(name)[0]
    processor = re.search(rf"_({PROCESSORS})$", stem)
    if not processor:
        raise ValueError(f"{name}: a name that ends in no processor: x_x86_64.S, x_aarch64.S or x_riscv64.S")
    system = re.search(rf"_({SYSTEMS})$", stem[:processor.start()])
    for form, target, flags in TARGETS[processor.group(1)]:
        own = {f"{stem[:processor.start()]}_{one}{processor.group(0)}.S" for one in SYSTEMS_OF_FORMAT[form]}
        if system is None and own & set(names):
            continue  # that file handles it
        if system is None or system.group(1) in SYSTEMS_OF_FORMAT[form]:
            yield form, target, flags


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def exported(path):
    names = run("llvm-nm-19", "--defined-only", "--extern-only", "--format=just-symbols", path)
    return set(names.stdout.split())


def instructions_of(path, function):
    """The instructions of a function, one per line."""
    text = run("llvm-objdump-19", "-d", "--no-show-raw-insn", "--no-leading-addr", f"--disassemble-symbols={function}", path).stdout
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def windows_complaints(path):
    """Returns what the switch does not save, or does not load again from the same place."""
    instructions = instructions_of(path, WINDOWS_SWITCH)
    jump = next((i for i, line in enumerate(instructions) if line.startswith("jmpq *") and "%rdx" in line), None)
    if jump is None:
        yield "it does not jump to the other context, whose address is in rdx"
        return
    saving, loading = instructions[:jump], instructions[jump + 1:]
    pushed = [line.split()[1] for line in saving if line.startswith("pushq")]
    popped = [line.split()[1] for line in loading if line.startswith("popq")]
    if popped[:-1] != pushed[::-1]:  # the last one is the return address
        yield f"it pops {popped}, not what it has pushed, {pushed}, in reverse"
    for missing in sorted(set(WINDOWS_INTEGERS) - set(pushed)):
        yield f"it does not save {missing}"
    for register in WINDOWS_VECTORS:
        saves = [line.split(" ", 2)[2] for line in saving if re.match(rf"mov\w+ {register}, ", line)]
        loads = [line.split(" ", 1)[1].rsplit(",", 1)[0] for line in loading if re.match(rf"mov\w+ .*, {register}$", line)]
        if len(saves) != 1 or saves != loads:
            yield f"it saves {register} at {saves} and loads it from {loads}"
    if ".pdata" not in run("llvm-readobj-19", "--sections", path).stdout:
        yield "it has no unwind information"


def complaints_about(root, source, folder):
    name = os.path.basename(source)
    marked = PROPERTY.get(re.search(rf"_({PROCESSORS})\.S$", name).group(1))
    symbols = {}
    for form, target, flags in formats_of(name, os.listdir(os.path.dirname(source))):
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
        if form == "coff" and WINDOWS_SWITCH in names:
            for complaint in windows_complaints(out):
                yield f"{name} for {target}: {WINDOWS_SWITCH}: {complaint}"
        if form == "elf":
            notes = run("llvm-readelf-19", "--sections", "--notes", out).stdout
            if ".note.GNU-stack" not in notes:
                yield f"{name} for {target}: no .note.GNU-stack: the linker would make stacks executable"
            if marked is not None and not re.search(rf"\b{marked}\b", notes):
                yield f"{name} for {target}: no {marked} property note: it switches the protection off for the program"
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
