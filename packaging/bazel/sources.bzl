"""The files of src/ for a platform, by the rule of cmake/weft_sources.cmake."""

# The endings of files for each system: its own name, and those of groups of systems.
SYSTEMS = {
    "linux": ["linux", "posix"],
    "darwin": ["darwin", "bsd", "posix"],
    "freebsd": ["freebsd", "bsd", "posix"],
    "windows": ["windows"],
}
PROCESSORS = ["x86_64", "aarch64", "riscv64"]
COMPONENTS = ["instrument", "tls", "http", "http_client", "redis", "postgres", "nats", "hooks", "observe", "sim"]

def _split(path):
    """Returns the path without extension, system and processor; the system or ""; the processor or ""."""
    stem = path.rsplit(".", 1)[0]
    processor = ""
    for name in PROCESSORS:
        if stem.endswith("_" + name):
            processor = name
            stem = stem[:-len(name) - 1]
    system = ""
    for name in ["linux", "darwin", "freebsd", "windows", "bsd", "posix"]:
        if stem.endswith("_" + name):
            system = name
            stem = stem[:-len(name) - 1]
    return stem, system, processor

def weft_sources(files, system, processor):
    """Returns those of files that belong to the core of weft, for a system and processor."""
    kept = []
    replaced = []
    for path in files:
        if path.endswith("_test.cc") or path.split("/")[1] in COMPONENTS:
            continue
        stem, its_system, its_processor = _split(path)
        if its_system not in [""] + SYSTEMS[system] or its_processor not in ["", processor]:
            continue
        kept.append(path)
        if its_system:
            suffix = "_" + its_processor if its_processor else ""
            replaced.append(stem + suffix + "." + path.rsplit(".", 1)[1])
    return [path for path in kept if path not in replaced]
