#!/usr/bin/env python3
"""pprof_check.py PROGRAM: PROGRAM writes profiles; this reads them as other tools would.

First with a decoder of the schema that is independent of weft's encoder. Checked: no field is
unknown, all numbers lead somewhere, each sample has one value of each type, addresses lie in their
mapping. Then with `go tool pprof`: -top, -traces and -raw of each. Without a Go toolchain that part is
left out, and the exit status is 77.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Fields of each message, by number: name, and whether it is a message, a packed list or one number.
MESSAGES = {
    "Profile": {1: "sample_type:ValueType", 2: "sample:Sample", 3: "mapping:Mapping", 4: "location:Location", 5: "function:Function",
                6: "string_table", 9: "time_nanos", 10: "duration_nanos", 11: "period_type:ValueType", 12: "period", 13: "comment[]",
                14: "default_sample_type"},
    "ValueType": {1: "type", 2: "unit"},
    "Sample": {1: "location_id[]", 2: "value[]", 3: "label:Label"},
    "Label": {1: "key", 2: "str", 3: "num", 4: "num_unit"},
    "Mapping": {1: "id", 2: "memory_start", 3: "memory_limit", 4: "file_offset", 5: "filename", 6: "build_id", 7: "has_functions",
                8: "has_filenames", 9: "has_line_numbers", 10: "has_inline_frames"},
    "Location": {1: "id", 2: "mapping_id", 3: "address", 4: "line:Line"},
    "Line": {1: "function_id", 2: "line"},
    "Function": {1: "id", 2: "name", 4: "filename"},
}

# What must be in each profile: its values, the functions with the most, and what -traces shows.
EXPECTED = {
    "cpu": ("samples/count cpu/nanoseconds", r"compute\(", [r"name: +hot", r"compute_hot", r"green_thread: +\d+"]),
    "goroutine": ("goroutine/count", r"chan<int>::recv", [r"door: +red", r"wait_reason: +chan receive", r"park_for_value", r"^ +7 "]),
    "sched": ("contentions/count delay/nanoseconds", r"started at profile_test\.cc:\d+", [r"name: +(receiver|hot|cold)"]),
    "block": ("contentions/count delay/nanoseconds", r"chan receive", [r"started at profile_test\.cc:\d+", r"name: +receiver"]),
    "waits": ("contentions/count delay/nanoseconds", r"weft::(chan<int>::recv|mutex::lock)", [r"wait_reason: +chan receive", r"wait_for_value"]),
    "mutex": ("contentions/count delay/nanoseconds", r"weft::mutex::unlock", [r"wait_reason: +mutex lock", r"unlock_at_last"]),
}
SKIPPED = 77


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def decode(data, message):
    """The fields of a message: a dict from name to the list of its values."""
    fields = {}
    at = 0
    while at < len(data):
        tag, at = number(data, at)
        known = MESSAGES[message].get(tag >> 3)
        if known is None:
            raise ValueError(f"{message} has no field {tag >> 3}")
        name, _, inner = known.partition(":")
        values = fields.setdefault(name.rstrip("[]"), [])
        if tag & 7 == 0:
            value, at = number(data, at)
            values.append(value)
            continue
        if tag & 7 != 2:
            raise ValueError(f"{message}.{name} has wire type {tag & 7}")
        size, at = number(data, at)
        content, at = data[at:at + size], at + size
        if len(content) != size:
            raise ValueError(f"{message}.{name} is cut")
        if inner:
            values.append(decode(content, inner))
        elif name.endswith("[]"):
            position = 0
            while position < size:
                value, position = number(content, position)
                values.append(value)
        else:
            values.append(content.decode())
    return fields


def one(message, name):
    return message.get(name, [0])[0]


def check_schema(data, types):
    """Complaints about a profile."""
    p = decode(data, "Profile")
    text = p["string_table"]
    complaints = []

    def of_type(v):
        return f"{text[one(v, 'type')]}/{text[one(v, 'unit')]}"

    found = " ".join(of_type(v) for v in p["sample_type"])
    if found != types:
        complaints.append(f"its values are {found}, not {types}")
    if text[0] != "" or len(set(text)) != len(text):
        complaints.append("the strings do not begin with an empty one, or one is there twice")
    mappings = {one(m, "id"): m for m in p.get("mapping", [])}
    functions = {one(f, "id"): f for f in p.get("function", [])}
    locations = {one(l, "id"): l for l in p.get("location", [])}
    for f in functions.values():
        if not text[one(f, "name")]:
            complaints.append("a function without a name")
    for l in locations.values():
        for line in l.get("line", []):
            if one(line, "function_id") not in functions:
                complaints.append("a line of a function that is not there")
        mapping = mappings.get(one(l, "mapping_id"))
        if mapping is None and one(l, "mapping_id") != 0:
            complaints.append("a location in a mapping that is not there")
        if mapping is not None and not one(mapping, "memory_start") <= one(l, "address") < one(mapping, "memory_limit"):
            complaints.append("an address outside of its mapping")
    if not p.get("sample"):
        complaints.append("no samples")
    for s in p.get("sample", []):
        if len(s["value"]) != len(p["sample_type"]):
            complaints.append("a sample has not one value of each type")
        if not s.get("location_id") or any(i not in locations for i in s["location_id"]):
            complaints.append("a sample without a stack, or with a location that is not there")
        for label in s.get("label", []):
            if not text[one(label, "key")] or not text[one(label, "str")]:
                complaints.append("an empty label")
    return sorted(set(complaints))


def pprof(go, how, path):
    ended = subprocess.run([go, "tool", "pprof", how, path], capture_output=True, text=True, check=False,
                           env={**os.environ, "PPROF_TMPDIR": os.path.dirname(path), "GOFLAGS": "", "GOTOOLCHAIN": "local"})
    if ended.returncode != 0:
        raise RuntimeError(f"go tool pprof {how} {path} failed: {ended.stderr}")
    return ended.stdout


def check_pprof(go, path, types, top, traces):
    complaints = []
    lines = pprof(go, "-top", path).splitlines()
    heading = next((i for i, line in enumerate(lines) if line.split()[:2] == ["flat", "flat%"]), None)
    if heading is None or len(lines) <= heading + 1 or not re.search(top, lines[heading + 1]):
        complaints.append(f"-top does not begin with {top}: {lines[heading or 0:][:3]}")
    shown = pprof(go, "-traces", path)
    complaints += [f"-traces does not show {part}" for part in traces if not re.search(part, shown, re.MULTILINE)]
    raw = pprof(go, "-raw", path)
    names = [word.removesuffix("[dflt]") for word in types.split()]
    if not re.search(r"\s".join(re.escape(name) + r"(\[dflt\])?" for name in names), raw):
        complaints.append("-raw shows other values")
    return complaints


def main():
    program = sys.argv[1]
    go = shutil.which("go")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--gtest_filter=*.WritesFilesForOtherPrograms", "--gtest_brief=1"], check=True,
                       env={**os.environ, "WEFT_TEST_PROFILES": folder, "GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0",
                            "GTEST_OUTPUT": ""})
        for name, (types, top, traces) in EXPECTED.items():
            path = os.path.join(folder, name + ".pb")
            with open(path, "rb") as file:
                data = file.read()
            complaints = check_schema(data, types)
            if go is not None:
                complaints += check_pprof(go, path, types, top, traces)
            print(f"{name}: {len(data)} bytes, {len(complaints)} complaints")
            for complaint in complaints:
                print(f"  {complaint}")
            bad += len(complaints)
    if bad:
        return 1
    if go is None:
        print("skipped: go tool pprof, because there is no go; the profiles follow the schema")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
