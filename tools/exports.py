#!/usr/bin/env python3
"""exports.py [--check] BUILD: which names the shared libraries export.

BUILD is a build with BUILD_SHARED_LIBS. Without --check this writes cmake/exports/LIBRARY.txt, from
which cmake/weft_exports.cmake makes the version script of each library. With it, a file that this
would change is an error, and so is a library that exports another name.

A name is public if a header under include/weft/ declares it (libclang reads the headers) and the
library defines it. It is private if no header declares it, and another library or program of this
repository uses it. All other names stay inside the library. Names are without parameters, so a list
holds for every standard library and processor.

Needs python3-clang-19 and the nm of binutils.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
FOLDER = os.path.join(ROOT, "cmake", "exports")
LIBRARIES = ["weft", "weft_tls", "weft_http", "weft_http_client", "weft_redis", "weft_postgres", "weft_nats", "weft_hooks", "weft_sim", "weft_observe",
             "weft_observe_page"]
USERS = ["weft_tls", "weft_http", "weft_http_client", "weft_redis", "weft_postgres", "weft_nats", "weft_hooks", "weft_sim", "weft_observe", "weft_observe_page",
         "weft_instrument", "weft_program"]
# Names that no header declares, because programs do not call them by name.
UNDECLARED = {
    "weft": [f"__wrap_pthread_mutex_{name}" for name in ("clocklock", "lock", "timedlock", "trylock", "unlock")],  # weft_check_mutexes()
    "weft_hooks": ["__poll_chk", "__ppoll_chk", "__read_chk", "__recv_chk", "__recvfrom_chk", "accept", "accept4", "clock_nanosleep", "close",
                   "close_range", "connect", "dup2", "dup3", "epoll_pwait", "epoll_wait", "fclose", "flock", "getaddrinfo",
                   "nanosleep", "poll", "ppoll", "pselect", "read", "readv", "recv", "recvfrom", "recvmsg", "select", "send",
                   "sendmsg", "sendto", "sleep", "usleep", "waitpid", "weft_hooks_are_linked", "write", "writev"],  # the C library's
    "weft_sim": ["clock_gettime", "gettimeofday", "time", "arc4random", "arc4random_buf", "arc4random_uniform", "getentropy", "getrandom",
                 "rand", "random", "srand", "srandom", "std::random_device::_M_getval"],  # in place of the C library's
    "weft_observe": ["weft_find_in_debug_information", "otel_thread_ctx_v1"],
}
HEAD = """# Names that the library exports, without parameters.
# Written by tools/exports.py, which says what makes a name public or private.
"""


def headers():
    """Yields the public headers, those of C after those of C++. c.h has only macros."""
    found = []
    for folder, _, files in os.walk(os.path.join(ROOT, "include", "weft")):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "include"))
            if name.endswith(".h") and path != "weft/c.h" and not path.startswith(("weft/asio/", "weft/grpc/")):
                found.append(path)
    return sorted(found, key=lambda path: ("/run" in path, path))


def declared_names():
    """Returns the qualified names of all functions, variables and classes in the public headers."""
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from clang import cindex
    except ImportError:
        sys.exit("exports: no libclang for Python; run: apt-get install python3-clang-19")
    text = "".join(f"#include <{header}>\n" for header in headers())
    cindex.Config.set_library_file("libclang-19.so.1")
    unit = cindex.Index.create().parse(
        "all.cc", ["-std=c++20", "-I" + os.path.join(ROOT, "include")], unsaved_files=[("all.cc", text)], options=cindex.TranslationUnit.PARSE_INCOMPLETE)
    errors = [str(note) for note in unit.diagnostics if note.severity >= cindex.Diagnostic.Error]
    if errors:
        sys.exit("exports: libclang cannot read the headers:\n" + "\n".join(errors[:10]))
    kind = cindex.CursorKind
    scopes = (kind.NAMESPACE, kind.CLASS_DECL, kind.STRUCT_DECL, kind.UNION_DECL, kind.LINKAGE_SPEC, kind.UNEXPOSED_DECL)
    names = (kind.FUNCTION_DECL, kind.CXX_METHOD, kind.CONSTRUCTOR, kind.DESTRUCTOR, kind.CONVERSION_FUNCTION, kind.VAR_DECL)
    inside = os.path.join(ROOT, "include") + os.sep
    found = set()

    def visit(cursor, path):
        for child in cursor.get_children():
            location = child.location.file
            if location is None or not os.path.abspath(location.name).startswith(inside):
                continue
            if child.kind in names:
                found.add("::".join([*path, child.spelling]))
                for friend in child.get_children():
                    if friend.kind in names:
                        found.add("::".join([*path, friend.spelling]))
            elif child.kind == kind.FRIEND_DECL:
                for friend in child.get_children():
                    if friend.kind in names:
                        found.add("::".join([friend.semantic_parent.spelling, friend.spelling]))
            elif child.kind in scopes:
                named = child.spelling and child.kind not in (kind.LINKAGE_SPEC, kind.UNEXPOSED_DECL)
                below = [*path, child.spelling] if named else path
                if named and child.kind != kind.NAMESPACE:
                    found.update(f"{what} for {'::'.join(below)}" for what in ("typeinfo", "typeinfo name", "vtable"))
                visit(child, below)

    visit(unit.cursor, [])
    return found


def without_parameters(symbol):
    """weft::f<int>(int) const -> weft::f<int>. A name with a return type (a template's) is left."""
    depth = 0
    for at, char in enumerate(symbol):
        if char == "<" and not symbol[:at].endswith("operator"):
            depth += 1
        elif char == ">" and depth:
            depth -= 1
        elif char == "(" and depth == 0 and not symbol[:at].endswith("operator"):
            return symbol[:at]
    return symbol


def plain(name):
    return name.replace("[abi:cxx11]", "")


def nm(paths, *arguments):
    """Yields (type, demangled name without parameters and version) of symbols."""
    output = subprocess.run(["nm", "-C", *arguments, *paths], stdout=subprocess.PIPE, text=True, check=True).stdout if paths else ""
    for line in output.splitlines():
        match = re.match(r"(?:[0-9a-f]+)?\s+([A-Za-z]) (.*)", line)
        if match:
            yield match[1], without_parameters(re.sub(r"@@?[A-Z_0-9.]+$", "", match[2]))


def objects_of(build, library):
    folder = os.path.join(build, "CMakeFiles", library + ".dir")
    return sorted(os.path.join(at, name) for at, _, files in os.walk(folder) for name in files if name.endswith(".o"))


def lists(build):
    """Returns {library: (public names, private names)}, from the objects of the build."""
    declared = declared_names()
    defined = {}
    for library in LIBRARIES:
        defined[library] = {name: kind for kind, name in nm(objects_of(build, library), "--defined-only", "--extern-only")}
    used = {}
    for user in USERS:
        objects = objects_of(build, user)
        if not objects:
            sys.exit(f"exports: {build} has no object of {user}: build the targets weft_instrument and weft_components first")
        used[user] = {name for _, name in nm(objects, "--undefined-only")}
    made = {}
    for library, kinds in defined.items():
        # Weak symbols are inline functions and the like, which each user has too. Classes are an
        # exception: an exception must have the same type everywhere.
        names = {name for name, kind in kinds.items() if kind in "TDBR" or re.match("(typeinfo|typeinfo name|vtable) for weft::", name)}
        public = {name for name in names if plain(name) in declared} | set(UNDECLARED.get(library, []))
        by_others = set().union(*(found for user, found in used.items() if user != library))
        made[library] = (public, (names & by_others) - public)
    return made


def text_of(public, private):
    parts = [HEAD, "\n[public]\n", *(name + "\n" for name in sorted(public))]
    if private:
        parts += ["\n[private]\n", *(name + "\n" for name in sorted(private))]
    return "".join(parts)


def has_tests(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        return "WEFT_BUILD_TESTS:BOOL=ON" in file.read()


def main():
    check = "--check" in sys.argv[1:]
    build = os.path.abspath(sys.argv[-1])
    complaints = []
    for library, (public, private) in lists(build).items():
        if not objects_of(build, library):
            complaints.append(f"{build} has no objects of {library}; build it with all components")
            continue
        path = os.path.join(FOLDER, library + ".txt")
        text = text_of(public, private)
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"exports: {os.path.relpath(path, ROOT)}: {len(public)} public names, {len(private)} private ones")
            continue
        with open(path, encoding="utf-8") as file:
            listed = set(file.read().splitlines())
        for name in sorted(set(text.splitlines()) ^ listed):
            complaints.append(f"{library}: {name} is {'not ' if name not in listed else ''}in {os.path.relpath(path, ROOT)}; run tools/exports.py {build}")
        if has_tests(build):
            continue
        exported = {name for kind, name in nm([os.path.join(build, f"lib{library}.so")], "-D", "--defined-only") if kind != "A"}
        for name in sorted(exported ^ (public | private)):
            complaints.append(f"lib{library}.so {'exports' if name in exported else 'does not export'} {name}")
    for complaint in complaints:
        print("exports: " + complaint)
    if check and not complaints:
        print("exports: the lists are current" if has_tests(build) else "exports: each library exports what its list says")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
