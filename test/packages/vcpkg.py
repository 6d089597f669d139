#!/usr/bin/env python3
"""vcpkg.py: the port in packaging/vcpkg. There is no vcpkg here, so this checks what it documents.

The manifest: the fields, types and forms of names, versions and licences of vcpkg's reference. The
portfile: it runs with stubs of vcpkg's functions (vcpkg_stub.cmake), which build and install; the
result has the folders that a port must have, and a program is built against it.
"""
import json
import os
import re
import tempfile

from common import HELLO, JOBS, ROOT, check_hello, copy_sources, fail, output_of, run, version

PORT = os.path.join(ROOT, "packaging", "vcpkg")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*$")
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]+)?$")
VERSIONS = ("version", "version-semver", "version-date", "version-string")
TOP = {
    "builtin-baseline": str, "default-features": list, "dependencies": list, "description": (str, list), "documentation": str, "features": dict,
    "homepage": str, "license": (str, type(None)), "maintainers": (str, list), "name": str, "overrides": list, "port-version": int, "summary": str,
    "supports": str, **dict.fromkeys(VERSIONS, str),
}
DEPENDENCY = {"name": str, "default-features": bool, "features": list, "host": bool, "platform": str, "version>=": str}
FEATURE = {"description": (str, list), "dependencies": list, "supports": str, "license": (str, type(None))}


def fields(thing, known, required, where):
    if not isinstance(thing, dict):
        return [f"{where} is not an object"]
    found = [f"{where} has no field {name}" for name in required if name not in thing]
    for name, value in thing.items():
        if name.startswith("$"):
            continue
        if name not in known:
            found.append(f"{where} has the unknown field {name}")
        elif not isinstance(value, known[name]) or (known[name] is int and isinstance(value, bool)):
            found.append(f"{where}: {name} has the wrong type")
    return found


def dependencies_of(thing, where):
    found = []
    for entry in thing.get("dependencies", []):
        if isinstance(entry, str):
            entry = {"name": entry}
        found += fields(entry, DEPENDENCY, ["name"], f"{where}: a dependency")
        if not NAME.match(str(entry.get("name"))):
            found.append(f"{where}: {entry.get('name')!r} is no name of a port")
    return found


def complaints(manifest):
    """What vcpkg's reference of vcpkg.json forbids in the manifest of a port."""
    found = fields(manifest, TOP, ["name", "description"], "the manifest")
    if sum(name in manifest for name in VERSIONS) != 1:
        found.append("the manifest needs exactly one of " + ", ".join(VERSIONS))
    if not NAME.match(str(manifest.get("name"))):
        found.append("the name of the port has other characters than a-z, 0-9 and -")
    if "version-semver" in manifest and not SEMANTIC.match(str(manifest["version-semver"])):
        found.append("version-semver is no semantic version")
    found += dependencies_of(manifest, "the manifest")
    for name, feature in manifest.get("features", {}).items():
        if not NAME.match(name):
            found.append(f"{name!r} is no name of a feature")
        found += fields(feature, FEATURE, ["description"], f"feature {name}")
        found += dependencies_of(feature, f"feature {name}")
    return found


# The checker must find each of these.
WRONG = [
    {"name": "Weft"}, {"version": "1"}, {"version-semver": "1.0"}, {"colour": "blue"}, {"license": 1}, {"dependencies": ["Open_SSL"]},
    {"dependencies": [{"host": True}]}, {"features": {"tls": {}}}, {"port-version": "1"},
]


def check_manifest():
    with open(os.path.join(PORT, "vcpkg.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    if complaints(manifest):
        fail("vcpkg.json: " + "; ".join(complaints(manifest)))
    if manifest["version-semver"] != version():
        fail(f"vcpkg.json has version {manifest['version-semver']}, the changelog {version()}")
    for change in WRONG:
        if not complaints({**manifest, **change}):
            fail(f"a manifest with {change} was accepted")
    print(f"vcpkg.json: valid; {len(WRONG)} wrong ones were refused")


def run_portfile(work):
    source, made, build = (os.path.join(work, folder) for folder in ("source", "packages", "build"))
    copy_sources(source)
    environment = dict(os.environ, WEFT_REPOSITORY="file://" + source, WEFT_COMMIT="0" * 40)
    run("cmake", f"-DSOURCE={source}", f"-DCURRENT_PACKAGES_DIR={made}", f"-DBUILD={build}", f"-DPORTFILE={PORT}/portfile.cmake", f"-DJOBS={JOBS}",
        "-P", os.path.join(ROOT, "test", "packages", "vcpkg_stub.cmake"), env=environment)
    for needed in ("include/weft/weft.h", "lib/libweft.a", "lib/pkgconfig/weft.pc", "share/weft/weft-config.cmake", "share/weft/copyright", "share/weft/usage"):
        if not os.path.exists(os.path.join(made, needed)):
            fail(f"the port installs no {needed}")
    project = os.path.join(work, "project")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(hello CXX)\nfind_package(weft CONFIG REQUIRED)\n"
                   f'add_executable(main "{HELLO}")\ntarget_link_libraries(main PRIVATE weft::weft)\nweft_target(main)\n')
    run("cmake", "-G", "Ninja", "-S", project, "-B", project + "/build", f"-DCMAKE_PREFIX_PATH={made}")
    run("cmake", "--build", project + "/build")
    check_hello(output_of(project + "/build/main"), "by the vcpkg port")


def main():
    check_manifest()
    with tempfile.TemporaryDirectory(prefix="weft-vcpkg-") as work:
        run_portfile(work)


if __name__ == "__main__":
    main()
