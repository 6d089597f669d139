#!/usr/bin/env python3
"""trace_check.py PROGRAM FOLDER: PROGRAM writes a failing schedule as a trace; this decodes it.

It is decoded with Perfetto's own schema, as in test/observe/perfetto_check.py. Checked: no field is
unknown; each track that is used is described; slices begin and end in turns on each track, and do
not overlap; times do not go back; the steps that the report lists are there, in their order.
"""
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "observe"))
import perfetto_check  # noqa: E402

BEGIN, END, INSTANT = 1, 2, 3
STEPS = ["locks mutex #2", "unlocks mutex #2", "locks mutex #2", "unlocks mutex #2"]


def check(trace):
    """Returns what is wrong, and the names of the slices by the name of their track."""
    complaints = set()
    tracks, steps, open_on, last = {}, {}, {}, 0
    for packet in trace.packet:
        if perfetto_check.unknown_fields(packet):
            complaints.add("a field that the schema does not know")
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            if d.parent_uuid and d.parent_uuid not in tracks:
                complaints.add("a track whose parent is not described")
            tracks[d.uuid] = d.name or d.process.process_name
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        if packet.timestamp < last:
            complaints.add("time goes back")
        last = packet.timestamp
        if e.track_uuid not in tracks:
            complaints.add("an event on a track that is not described")
            continue
        track = tracks[e.track_uuid]
        if e.type == BEGIN:
            if open_on.get(track):
                complaints.add("slices overlap on " + track)
            open_on[track] = True
            steps.setdefault(track, []).append(e.name)
        elif e.type == END:
            if not open_on.get(track):
                complaints.add("a slice ends that has not begun on " + track)
            open_on[track] = False
        elif e.type != INSTANT:
            complaints.add("an event of another type")
    if any(open_on.values()):
        complaints.add("a slice that does not end")
    return complaints, steps


def main():
    program, folder = sys.argv[1:]
    schema = perfetto_check.schema(folder)
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, "failure.pftrace")
        subprocess.run([program, "--gtest_brief=1", "--gtest_filter=SimulationTrace.TheFileOfTheEnvironment"],
                       check=True, env=dict(os.environ, WEFT_SIM_TRACE=file))
        with open(file, "rb") as f:
            trace = schema.Trace.FromString(f.read())
    complaints, steps = check(trace)
    for name in ("anna", "otto"):
        own = [track for track in steps if track.startswith(name + " (trace_test.cc:")]
        if len(own) != 1:
            complaints.add(f"no track of {name}")
        elif [s for s in steps[own[0]] if "mutex" in s] != STEPS:
            complaints.add(f"other steps of {name}: {steps[own[0]]}")
    if not {"anna", "otto"} <= set(steps.get("runs", [])):
        complaints.add("the track of what runs lacks a green thread")
    for c in sorted(complaints):
        print("trace_check: " + c, file=sys.stderr)
    print(f"trace_check: {len(trace.packet)} packets, {sum(map(len, steps.values()))} slices")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
