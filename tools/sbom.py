#!/usr/bin/env python3
"""sbom.py BUILD FILE: writes the bill of materials of a build, in the JSON form of SPDX 2.3.

One package for each library and program that BUILD has, and one for each library of others that is
compiled in or linked, with the version that this machine has. The core has none. The C and C++
standard libraries and the kernel's headers are part of the system, and left out.
SOURCE_DATE_EPOCH is the time of a reproducible build.
"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "test", "packages"))
import common  # noqa: E402

# What each part of weft needs of others: {part: (file in the build, [others])}.
PARTS = {
    "weft": ("libweft.*", []),
    "weft-tls": ("libweft_tls.*", ["openssl"]),
    "weft-http": ("libweft_http.*", ["boost", "nghttp2"]),
    "weft-http-client": ("libweft_http_client.*", ["curl"]),
    "weft-redis": ("libweft_redis.*", ["hiredis"]),
    "weft-postgres": ("libweft_postgres.*", ["libpq"]),
    "weft-nats": ("libweft_nats.*", ["libnats"]),
    "weft-hooks": ("libweft_hooks.*", []),
    "weft-sim": ("libweft_sim.*", []),
    "weft-observe": ("libweft_observe.*", ["elfutils", "protozero", "zlib"]),
    "weft-observe-page": ("libweft_observe_page.*", ["boost"]),
    "weft-program": ("programs/weft", ["ncurses"]),
}
# {name: (licence, how its version is found, linked as; None: only headers, which are compiled in)}
OTHERS = {
    "openssl": ("Apache-2.0", ("pkg-config", "openssl"), "libssl"),
    "curl": ("curl", ("pkg-config", "libcurl"), "libcurl"),
    "hiredis": ("BSD-3-Clause", ("pkg-config", "hiredis"), "libhiredis"),
    "libpq": ("PostgreSQL", ("pkg-config", "libpq"), "libpq"),
    "libnats": ("Apache-2.0", ("pkg-config", "libnats"), "libnats"),
    "nghttp2": ("MIT", ("pkg-config", "libnghttp2"), "libnghttp2"),
    "elfutils": ("LGPL-3.0-or-later OR GPL-2.0-or-later", ("pkg-config", "libdw"), "libdw"),
    "zlib": ("Zlib", ("pkg-config", "zlib"), "libz"),
    "ncurses": ("X11-distribute-modifications-variant", ("pkg-config", "ncursesw"), "libncursesw"),
    "protozero": ("BSD-2-Clause AND Apache-2.0", ("header", "protozero/version.hpp", r'PROTOZERO_VERSION_STRING "([^"]+)"'), None),
    "boost": ("BSL-1.0", ("header", "boost/version.hpp", r'BOOST_LIB_VERSION "([^"]+)"'), None),
}


def version_of(name):
    how = OTHERS[name][1]
    if how[0] == "pkg-config":
        return subprocess.run(["pkgconf", "--modversion", how[1]], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(os.path.join("/usr/include", how[1]), encoding="utf-8") as file:
        return re.search(how[2], file.read())[1].replace("_", ".")


def package(name, version, licence, own):
    return {
        "SPDXID": "SPDXRef-" + name,
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: The authors of weft" if own else "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY" if name != "weft-program" else "APPLICATION",
    }


def has(build, pattern):
    folder, name = os.path.split(pattern)
    entries = os.listdir(os.path.join(build, folder)) if os.path.isdir(os.path.join(build, folder)) else []
    return any(re.fullmatch(name.replace(".", r"\.").replace("*", ".*"), entry) for entry in entries)


def bill(build):
    parts = [name for name, (pattern, _) in PARTS.items() if has(build, pattern)]
    others = sorted({other for name in parts for other in PARTS[name][1]})
    packages = [package(name, common.version(), "BSL-1.0", True) for name in parts]
    packages += [package(name, version_of(name), OTHERS[name][0], False) for name in others]
    relations = [("DOCUMENT", "DESCRIBES", name) for name in parts]
    relations += [(name, "DEPENDS_ON", "weft") for name in parts if name != "weft"]
    relations += [(name, "DEPENDS_ON", "weft-observe") for name in parts if name in ("weft-observe-page", "weft-program")]
    relations += [(name, "DEPENDS_ON", "weft-http") for name in parts if name == "weft-http-client"]
    relations += [(name, "DYNAMIC_LINK" if OTHERS[other][2] else "STATIC_LINK", other) for name in parts for other in PARTS[name][1]]
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())), datetime.timezone.utc)
    key = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()[:32]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"weft-{common.version()}",
        "documentNamespace": f"urn:weft:sbom:{common.version()}:{key}",
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: weft-tools-sbom.py"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-" + a, "relationshipType": relation, "relatedSpdxElement": "SPDXRef-" + b} for a, relation, b in relations
        ],
    }


def main():
    build, path = sys.argv[1:]
    made = bill(os.path.abspath(build))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(made, file, indent=2)
        file.write("\n")
    print(f"{path}: {len(made['packages'])} packages")


if __name__ == "__main__":
    main()
