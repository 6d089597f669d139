#!/usr/bin/env python3
"""perfetto_check.py PROGRAM FOLDER: PROGRAM writes recordings; this reads them as other tools would.

The protobuf is decoded with Perfetto's own schema, from the package perfetto of the Python index,
which is installed in FOLDER if it is not there. Checked: no field is unknown; each slice ends on the
track on which it began, and slices nest; each track that is used is described; each flow has one
begin and one end, in this order; times do not go back. The JSON is decoded, too.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import zlib

import python_package

VERSION = "0.59.1"
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
BYTES_MAX = 25


def schema(folder):
    """The module of the schema."""
    python_package.use("perfetto", VERSION, folder)
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415
    return perfetto_trace_pb2


def unknown_fields(message):
    """Whether the message or one in it has a field that the schema does not know."""
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415
    if len(UnknownFieldSet(message)) != 0:
        return True
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inner = [value] if hasattr(value, "DESCRIPTOR") else value
        if any(unknown_fields(m) for m in inner):
            return True
    return False


class checker:
    def __init__(self):
        self.complaints = collections.Counter()
        self.described = set()
        self.open = collections.defaultdict(list)
        self.begun, self.ended = {}, {}
        self.names = {}
        self.kinds = collections.Counter()
        self.ns = 0

    def complain(self, what):
        self.complaints[what] += 1

    def packet(self, p):
        if p.HasField("compressed_packets"):
            self.complain("a compressed packet in another one")
        if unknown_fields(p):
            self.complain("a field that the schema does not know")
        for entry in p.interned_data.event_names:
            self.names[entry.iid] = entry.name
        if p.HasField("track_descriptor"):
            d = p.track_descriptor
            if d.parent_uuid and d.parent_uuid not in self.described:
                self.complain("a track whose parent is not described")
            self.described.add(d.uuid)
        if p.HasField("track_event"):
            self.ns += p.timestamp
            self.event(p.track_event)

    def event(self, e):
        self.kinds[e.type] += 1
        if e.track_uuid not in self.described:
            self.complain("an event on a track that is not described")
        if e.type in (BEGIN, INSTANT) and not e.name and e.name_iid not in self.names:
            self.complain("an event without a name")
        if e.type == BEGIN:
            self.open[e.track_uuid].append(e)
        elif e.type == END:
            if not self.open[e.track_uuid]:
                self.complain("an end without a begin")
            else:
                self.open[e.track_uuid].pop()
        for flow in e.flow_ids:
            if flow in self.begun:
                self.complain("a flow that begins twice")
            self.begun[flow] = self.ns
        for flow in e.terminating_flow_ids:
            if flow in self.ended:
                self.complain("a flow that ends twice")
            if flow not in self.begun:
                self.complain("a flow that ends before it begins")
            self.ended[flow] = self.ns

    def finish(self):
        for track in self.open.values():
            if track:
                self.complain("a slice that does not end")
        if not self.begun or len(self.ended) < 0.99 * len(self.begun):
            self.complain(f"{len(self.begun) - len(self.ended)} of {len(self.begun)} flows do not end")
        for kind in (BEGIN, END, INSTANT, COUNTER):
            if self.kinds[kind] == 0:
                self.complain(f"no event of type {kind}")


def check_json(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    phases = collections.Counter(e["ph"] for e in events)
    return [f"no event of phase {phase} in the JSON" for phase in "MXsfBEC" if phases[phase] == 0]


def main():
    program, folder = sys.argv[1:]
    pb2 = schema(folder)
    with tempfile.TemporaryDirectory() as temporary:
        base = os.path.join(temporary, "recording")
        subprocess.run([program, "--gtest_filter=Recorder.WritesFilesForOtherPrograms", "--gtest_brief=1"], check=True,
                       env={**os.environ, "WEFT_TEST_RECORDING": base, "GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0"})
        with open(base + ".pftrace", "rb") as file:
            data = file.read()
        with open(base + ".events", encoding="utf-8") as file:
            events = int(file.read())
        trace = pb2.Trace()
        trace.ParseFromString(data)
        c = checker()
        for piece in trace.packet:
            packets = pb2.Trace()
            packets.ParseFromString(zlib.decompress(piece.compressed_packets))
            for p in packets.packet:
                c.packet(p)
        c.finish()
        complaints = [f"{what} ({count} times)" for what, count in c.complaints.items()] + check_json(base + ".json")
        if len(data) > BYTES_MAX * events:
            complaints.append(f"{len(data) / events:.1f} bytes an event; {BYTES_MAX} are allowed")
    print(f"{events} events, {len(data) / events:.1f} bytes each, {len(c.ended)} of {len(c.begun)} flows end, {len(complaints)} complaints")
    for complaint in complaints:
        print(f"  {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
