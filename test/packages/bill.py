#!/usr/bin/env python3
"""bill.py BUILD: the bill of materials that tools/sbom.py writes for a build with shared libraries.

The validator of SPDX's own Python tools must accept it, and must refuse one without a version. Each
library of others that a library of BUILD names in its dynamic section must be in the bill as one of
its dependencies, and the other way round. The core must have none.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from common import ROOT, fail, output_of, run, virtual_environment

SPDX = "spdx-tools==0.8.5"
SYSTEM = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|ld-linux-[\w-]+|libtinfo)\.so")
# Libraries that come with one of those that the bill names.
WITH = {"libcrypto": "libssl", "libformw": "libncursesw"}


def needed(path):
    names = re.findall(r"\(NEEDED\).*\[(.*?)\]", output_of("readelf", "-d", path))
    found = {re.match(r"[^.]+", name)[0] for name in names if not SYSTEM.match(name)}
    return {WITH.get(name, name) for name in found if not name.startswith("libweft")}


def main():
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import sbom

    build = os.path.abspath(sys.argv[1])
    programs = virtual_environment(os.path.join(ROOT, "build", "packages_spdx"), SPDX)
    with tempfile.TemporaryDirectory(prefix="weft-sbom-") as work:
        path, wrong = os.path.join(work, "weft.spdx.json"), os.path.join(work, "wrong.spdx.json")
        run("python3", os.path.join(ROOT, "tools", "sbom.py"), build, path)
        run(os.path.join(programs, "pyspdxtools"), "--infile", path)
        with open(path, encoding="utf-8") as file:
            bill = json.load(file)
        with open(wrong, "w", encoding="utf-8") as file:
            json.dump({**bill, "spdxVersion": "SPDX-1.9"}, file)
        if subprocess.run([os.path.join(programs, "pyspdxtools"), "--infile", wrong], stdout=-3, stderr=-3, check=False).returncode == 0:
            fail("the validator accepts a bill of an unknown version of SPDX")
    listed = {}
    for relation in bill["relationships"]:
        if relation["relationshipType"] in ("DYNAMIC_LINK", "STATIC_LINK"):
            other = relation["relatedSpdxElement"].removeprefix("SPDXRef-")
            listed.setdefault(relation["spdxElementId"].removeprefix("SPDXRef-"), set()).add(sbom.OTHERS[other][2])
    for part, (pattern, _) in sbom.PARTS.items():
        path = os.path.join(build, pattern.replace(".*", ".so"))
        if not os.path.exists(path):
            fail(f"{build} has no {part}")
        if needed(path) != listed.get(part, set()) - {None}:
            fail(f"{part} needs {sorted(needed(path))}; the bill says {sorted(listed.get(part, set()) - {None})}")
    if "weft" in listed:
        fail("the bill gives the core dependencies")
    print(f"bill: {len(bill['packages'])} packages; each agrees with what its file needs")


if __name__ == "__main__":
    main()
