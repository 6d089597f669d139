#!/usr/bin/env python3
"""emulated_switch.py FOLDER: the context switch keeps what each calling convention requires, also for
systems on which nothing of ours runs.

Each file of src/context is assembled for its systems, and its instructions run in the emulator
Unicorn, a package of the Python index that is installed in FOLDER. The test starts a context, switches
back and forth between two stacks, and calls a function on a third one. Each time all registers hold
values of their own. It checks:

  - callee-saved registers, the stack pointer and the floating-point control word are kept,
  - the reserved registers are never changed: x18 on macOS and Windows, gp and tp on RISC-V,
  - arguments, the baton and the end of frame pointers arrive,
  - the stack pointer is always a multiple of 16, and nothing is written below it, or anywhere but in
    the contexts and in the frame,
  - each of these checks can fail: without any single instruction, at least one of them does.

This is about registers. What a system keeps about stacks elsewhere is not checked: on Windows for
Arm the bounds in the thread's block, which a port must also switch.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "observe"))
import python_package  # noqa: E402

VERSION = "2.1.4"
CODE, STUBS, DATA = 0x100000, 0x200000, 0x300000
STACKS, STACK_SIZE = 0x400000, 0x10000
STEPS_MAX = 1000     # a broken switch may run anywhere
FIRST_FRAME = 32     # context.cc

# Where the emulation stops: functions that the switch calls, and places that it returns to.
RETURN_TO_A, RETURN_TO_B, ENTRY, EXIT, FUNCTION = (STUBS + 64 * i for i in range(5))
CONTEXT_A, CONTEXT_B = DATA + 0x100, DATA + 0x200
ARGUMENT, BATON, BATON_2, BATON_3 = 0x1234567890, 0x2345678901, 0x3456789012, 0x4567890123


class failure(Exception):
    pass


class aarch64:
    name = "aarch64"
    arguments = ["x0", "x1", "x2"]
    result, back, sp, pc, fp = "x0", "lr", "sp", "pc", "x29"
    kept = [f"x{i}" for i in range(19, 30)] + [f"d{i}" for i in range(8, 16)]
    others = [f"x{i}" for i in range(3, 18)] + [f"d{i}" for i in (*range(8), *range(16, 32))]
    controls = {"fpcr": 0x00C00000}   # rounds towards zero
    frame = 160
    # A target; what its convention reserves; how to get the instructions out of the object.
    targets = [
        ("aarch64-linux-gnu", [], ".text"),
        ("arm64-apple-macos11", ["x18"], "__TEXT,__text"),
        ("aarch64-pc-windows-gnu", ["x18"], ".text"),
    ]
    # Without these nothing changes here: they accept a jump, or are not reached.
    may_go = re.compile(r"^(hint|bti|brk|nop|udf|\.)")
    nop = struct.pack("<I", 0xD503201F)
    change_reserved = struct.pack("<I", 0xAA0203F2)   # mov x18, x2

    @staticmethod
    def machine(unicorn):
        m = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        m.reg_write(unicorn.arm64_const.UC_ARM64_REG_CPACR_EL1, 3 << 20)   # floating point
        return m, unicorn.arm64_const, "UC_ARM64_REG_"


class riscv64:
    name = "riscv64"
    arguments = ["a0", "a1", "a2"]
    result, back, sp, pc, fp = "a0", "ra", "sp", "pc", "s0"
    integers = [f"s{i}" for i in range(12)]
    kept = integers + [f"fs{i}" for i in range(12)]
    others = [f"a{i}" for i in range(3, 8)] + [f"t{i}" for i in range(7)] + [f"fa{i}" for i in range(8)]
    controls = {"frm": 1}             # rounds towards zero
    frame = 208
    targets = [("riscv64-linux-gnu", ["gp", "tp"], ".text")]
    may_go = re.compile(r"^((c\.)?(ebreak|nop|unimp)|addi\s+zero, zero|\.)")
    nop = struct.pack("<H", 1)

    @staticmethod
    def machine(unicorn):
        m = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
        m.reg_write(unicorn.riscv_const.UC_RISCV_REG_MSTATUS, 1 << 13)     # floating point
        return m, unicorn.riscv_const, "UC_RISCV_REG_"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise failure(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout


class code:
    """The assembled instructions, and where the functions begin."""

    def __init__(self, processor, target, section, folder):
        out = os.path.join(folder, f"{target}.o")
        source = os.path.join(ROOT, "src", "context", f"context_{processor.name}.S")
        run("clang-19", f"--target={target}", f"-I{ROOT}/src", f"-I{ROOT}/include", "-c", source, "-o", out)
        if processor is riscv64:   # the only one with addresses that a linker fills in
            linked = os.path.join(folder, f"{target}.elf")
            run("ld.lld-19", f"-Ttext={CODE:#x}", "--no-relax", "-e", "run_context_switch", out, "-o", linked)
            out, base = linked, CODE
        else:
            base = 0
        text = os.path.join(folder, f"{target}.text")
        run("llvm-objcopy-19", f"--dump-section={section}={text}", out, os.path.join(folder, "unused"))
        with open(text, "rb") as file:
            self.bytes = file.read()
        self.at = {name.lstrip("_"): int(address, 16) - base
                   for address, name in re.findall(r"^([0-9a-f]+) T (\w+)$", run("llvm-nm-19", out), re.MULTILINE)}
        self.instructions = [(int(address, 16) - base, words.replace(" ", ""), text) for address, words, text in re.findall(
            r"^\s*([0-9a-f]+):\s+((?:[0-9a-f]{4,8} )+)\s*(\S.*)$", run("llvm-objdump-19", "-d", "-M", "no-aliases", out), re.MULTILINE)]
        if not self.instructions:
            raise failure(f"{target}: the disassembler has found no instruction")


class program:
    """One emulated thread."""

    def __init__(self, unicorn, processor, reserved, content, functions):
        self.unicorn, self.processor, self.functions = unicorn, processor, functions
        self.reserved = reserved
        self.machine, self.names, self.prefix = processor.machine(unicorn)
        for at, size in ((CODE, 0x10000), (STUBS, 0x1000), (DATA, 0x1000), (STACKS, 4 * STACK_SIZE)):
            self.machine.mem_map(at, size)
        self.machine.mem_write(CODE, content)
        self.machine.mem_write(STACKS, b"\x5a" * (4 * STACK_SIZE))
        self.complaint = None
        self.machine.hook_add(unicorn.UC_HOOK_CODE, self.on_instruction)
        self.machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, self.on_write)
        for name, value in processor.controls.items():
            self.set(name, value)
        for i, name in enumerate(reserved):
            self.set(name, 0x18181818_00000000 + i)
        self.writable = []

    def number(self, name):
        # A number, d or f and all.
        name = {"lr": "x30" if self.processor is aarch64 else "ra"}.get(name, name)
        if self.processor is riscv64:
            if name == "gp":
                name = "x3"
            elif name == "tp":
                name = "x4"
        return getattr(self.names, self.prefix + name.upper())

    def get(self, name):
        return self.machine.reg_read(self.number(name))

    def set(self, name, value):
        self.machine.reg_write(self.number(name), value)

    def word(self, at):
        try:
            return struct.unpack("<Q", self.machine.mem_read(at, 8))[0]
        except self.unicorn.UcError:
            raise failure(f"there is no memory at {at:#x}") from None

    def complain(self, text):
        if self.complaint is None:
            self.complaint = text
        self.machine.emu_stop()

    def on_instruction(self, machine, address, size, _):
        if self.get(self.processor.sp) % 16 != 0:
            self.complain(f"the stack pointer is {self.get(self.processor.sp):#x} at {address - CODE:#x}")

    def on_write(self, machine, access, address, size, value, _):
        if not any(low <= address and address + size <= high for low, high in self.writable):
            self.complain(f"it writes to {address:#x}")

    def fill(self, seed):
        """Gives every register that the convention does not reserve a value of its own."""
        values = {}
        for i, name in enumerate(self.processor.kept + self.processor.others):
            values[name] = seed + 0x0101_0101 * i
            self.set(name, values[name])
        return {name: values[name] for name in self.processor.kept}

    def go(self, function, arguments, back, until):
        """Calls a function; returns when `until` is reached."""
        if function is not None:
            self.set(self.processor.pc, CODE + self.functions[function])
        for name, value in zip(self.processor.arguments, arguments):
            self.set(name, value)
        if back is not None:
            self.set(self.processor.back, back)
        try:
            self.machine.emu_start(self.get(self.processor.pc), until, count=STEPS_MAX)
        except self.unicorn.UcError as error:
            raise failure(f"{function}: {error} at {self.get(self.processor.pc):#x}") from None
        if self.complaint is not None:
            raise failure(f"{function}: {self.complaint}")
        self.equal(f"{function}: the program counter", self.get(self.processor.pc), until)
        for i, name in enumerate(self.reserved):
            self.equal(f"{function}: {name}", self.get(name), 0x18181818_00000000 + i)
        for name, value in self.processor.controls.items():
            self.equal(f"{function}: {name}", self.get(name), value)

    @staticmethod
    def equal(what, found, expected):
        if found != expected:
            raise failure(f"{what} is {found:#x}, not {expected:#x}")

    def check_kept(self, when, kept, sp, result):
        for name, value in kept.items():
            self.equal(f"{when}: {name}", self.get(name), value)
        self.equal(f"{when}: the stack pointer", self.get(self.processor.sp), sp)
        if result is not None:
            self.equal(f"{when}: the result", self.get(self.processor.result), result)


def check(unicorn, processor, reserved, content, functions):
    """Raises failure."""
    p = program(unicorn, processor, reserved, content, functions)
    frame = processor.frame
    stack_a, stack_b, stack_c = (STACKS + (i + 1) * STACK_SIZE - 256 for i in range(3))
    contexts = [(CONTEXT_A, CONTEXT_A + 24), (CONTEXT_B, CONTEXT_B + 24)]

    # As run_context_init() does.
    first = stack_b - FIRST_FRAME
    p.machine.mem_write(first, struct.pack("<4Q", ENTRY, ARGUMENT, EXIT, 0))
    p.machine.mem_write(CONTEXT_B, struct.pack("<3Q", first, CODE + functions["run_context_entry"], 0))

    # A starts B.
    kept_a = p.fill(0xAAAA_0000_0000)
    p.set(processor.sp, stack_a)
    p.writable = [*contexts, (stack_a - frame, stack_a)]
    p.go("run_context_switch", [CONTEXT_A, CONTEXT_B, BATON], RETURN_TO_A, ENTRY)
    p.equal("the entry's argument", p.get(processor.arguments[0]), ARGUMENT)
    p.equal("the entry's baton", p.get(processor.arguments[1]), BATON)
    p.equal("the entry's frame pointer", p.get(processor.fp), 0)
    p.equal("the entry's stack pointer", p.get(processor.sp), first + 16)
    p.equal("the frame pointer in the context", p.word(CONTEXT_A + 16), kept_a[processor.fp])
    p.equal("the stack pointer in the context", p.word(CONTEXT_A), stack_a - frame)
    after_entry = p.get(processor.back)

    # B switches to A, from a place of its own; A to B; and again, in the middle of other values.
    sp_b = first + 16 - 64
    for turn in range(2):
        kept_b = p.fill(0xBBBB_0000_0000 + (turn << 20))
        p.set(processor.sp, sp_b)
        p.writable = [*contexts, (sp_b - frame, sp_b)]
        p.go("run_context_switch", [CONTEXT_B, CONTEXT_A, BATON_2 + turn], RETURN_TO_B, RETURN_TO_A)
        p.check_kept("back in A", kept_a, stack_a, BATON_2 + turn)

        kept_a = p.fill(0xAAAA_0000_0000 + ((turn + 1) << 24))
        p.writable = [*contexts, (stack_a - frame, stack_a)]
        p.go("run_context_switch", [CONTEXT_A, CONTEXT_B, BATON_3 + turn], RETURN_TO_A, RETURN_TO_B)
        p.check_kept("back in B", kept_b, sp_b, BATON_3 + turn)

    # The entry returns: the scheduler's function is called on the first frame.
    p.set(processor.sp, first + 16)
    p.set(processor.pc, after_entry)
    p.writable = []
    p.go(None, [], None, EXIT)
    p.equal("the stack pointer of the exit", p.get(processor.sp) % 16, 0)

    # A call on another stack.
    for below in (0, 1, 8, 15, 16):
        p.machine.mem_write(stack_a - frame, b"\x5a" * frame)
        kept_a = p.fill(0xCCCC_0000_0000)
        p.set(processor.sp, stack_a)
        top = stack_c - below
        p.writable = [(stack_a - 16, stack_a)]
        p.go("run_call_on_stack", [top, FUNCTION, ARGUMENT], RETURN_TO_A, FUNCTION)
        p.equal("the function's argument", p.get(processor.arguments[0]), ARGUMENT)
        sp = p.get(processor.sp)
        if not top - 32 <= sp <= top:
            raise failure(f"run_call_on_stack: the stack pointer is {sp:#x}, the top {top:#x}")
        kept_inside = {name: value for name, value in kept_a.items() if name != processor.fp}
        p.check_kept("inside the call", kept_inside, sp, None)
        record = p.get(processor.fp) - (16 if processor is riscv64 else 0)
        p.equal("the frame record's frame pointer", p.word(record), kept_a[processor.fp])
        p.equal("the frame record's return address", p.word(record + 8), RETURN_TO_A)
        for name in processor.others + [*processor.arguments]:
            p.set(name, 0xDDDD)
        p.set(processor.pc, p.get(processor.back))
        p.go(None, [], None, RETURN_TO_A)
        p.check_kept("after the call", kept_a, stack_a, None)


def check_target(unicorn, processor, target, reserved, section, folder):
    c = code(processor, target, section, folder)
    check(unicorn, processor, reserved, c.bytes, c.at)
    survivors = []
    tried = 0
    for at, words, text in c.instructions:
        if processor.may_go.match(text):
            continue
        size = len(words) // 2
        broken = c.bytes[:at] + processor.nop * (size // len(processor.nop)) + c.bytes[at + size:]
        tried += 1
        try:
            check(unicorn, processor, reserved, broken, c.at)
            survivors.append(f"{at:#x} {text}")
        except failure:
            pass
    if processor is aarch64 and reserved:   # in place of the mark of a function that may be called
        try:
            check(unicorn, processor, reserved, processor.change_reserved + c.bytes[4:], c.at)
            survivors.append("a change of x18")
        except failure as found:
            if "x18" not in str(found):
                raise
    if survivors:
        raise failure(f"nothing fails without, or with: {'; '.join(survivors)}")
    print(f"{target}: keeps {len(processor.kept)} registers{', reserves ' + ' and '.join(reserved) if reserved else ''}; "
          f"{tried} instructions, each needed")


def main():
    python_package.use("unicorn", VERSION, sys.argv[1])
    import unicorn
    import unicorn.arm64_const
    import unicorn.riscv_const
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for processor in (aarch64, riscv64):
            for target, reserved, section in processor.targets:
                try:
                    check_target(unicorn, processor, target, reserved, section, folder)
                except failure as f:
                    failures += 1
                    print(f"{target}: {f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
