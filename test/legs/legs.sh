# legs.sh: the parts of ./dev test. Sourced by ./dev.
#
# A leg is a function leg_NAME: one build and what runs in it. Its steps write to
# build/logs/NAME.log and print what matters. A leg fails with its first step that fails. run_legs
# runs legs one after the other and ends with a table of their times and the five slowest tests.
#
# ./dev test is the gate: everything that has found faults, within a quarter of an hour on two cores
# with a filled compiler cache. ./dev test full runs every leg completely, from empty build
# directories and without the compiler cache. docs/testing.md says for each suite what it finds, how
# long it takes, and in which of the two it runs. The functions of a leg call is_full.
#
# The gate derives its random choices from the hash of the commit, so the same commit is always
# tested in the same way.

# One line each: the name, and a description. In the order in which they run: those that fail
# soonest come first.
legs() {
    cat <<'END'
lint        format, layers, tidiness, words, documentation, clang-tidy
native      GCC: all suites, examples, instruction budgets; every header of an adapter compiles alone
model       model checks of the real headers, Spin models, their mutants
asan        Clang, address and undefined-behaviour sanitizers
tsan        Clang, thread sanitizer
clang       Clang with thread-safety analysis and the inline context switch
libcxx      Clang with libc++; every public header alone, also with GCC, under the warnings of demanding users; full: every source alone
aarch64     GCC for aarch64 under an emulator
shared      GCC, shared library and -fPIC: steal storm; find_package and pkg-config against the installed tree
lto         GCC, link-time optimization: steal storm
consumer    find_package, pkg-config and add_subdirectory against the installed tree; plug-ins; programs with other flags
musl        Clang with libc++ and musl, static
assemble    the context switch as ELF, Mach-O and COFF objects; what that for Windows saves; those for Arm and RISC-V in an emulator
END
}

# Legs that only ./dev test full runs.
legs_of_full() {
    cat <<'END'
riscv64     GCC for riscv64 under an emulator
musl_cross  Clang with libc++ and musl, static, for aarch64 and riscv64 under an emulator: unit, exceptions, storm; examples link
ports       FreeBSD on x86-64, macOS on Arm and x86-64: library and examples compile and link; Windows: examples and tests run under wine
modes       Clang 14 and 16; C++23 and C++26 with GCC, and with Clang and libc++: every source and example alone; every header with libc++
gcc14       GCC 14, in a root of Debian 13: unit, conformance, examples
gcc15       GCC 15, in a root of Debian sid: unit, conformance, examples; C++26
clang21     Clang 21, in a root of Debian sid: unit, conformance, examples; C++26
kernels     suites without some system calls, as in old kernels and containers; suites under Debian 12's Linux 6.1
site        the documentation site in headless Chromium: links, requests to others, width, search, light and dark
packages    Debian packages in clean roots, Conan, vcpkg, Meson, Bazel, Spack, tarball, FetchContent; bill of materials
END
}

leg_names() {
    {
        legs
        ! is_full || legs_of_full
    } | awk '{ print $1 }'
}

is_full() { [[ -n ${WEFT_TEST_FULL:-} ]]; }
if_gate() { is_full || printf '%s' "$1"; }

# drawn N: a random number below N, the same each time for a commit.
drawn() {
    local hash
    hash=$(git rev-parse --verify -q HEAD 2>/dev/null) || hash=0
    printf '%d' $((16#${hash:0:8} % $1))
}

# ---- The compiler cache. Its keys have relative paths, so a fresh clone finds what another one has
# compiled.

launcher=
if command -v ccache >/dev/null; then launcher=ccache; fi
use_compiler_cache() {
    if is_full; then
        launcher=
        return
    fi
    need ccache
    ! command -v ccache >/dev/null || launcher=ccache
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}
    # A precompiled header knows the contents of its headers, comments included; ccache's keys do not.
    # Those of the components are in none.
    CCACHE_EXTRAFILES=$(find "$PWD/include" -name '*.h' -not -path '*/weft/asio/*' -not -path '*/weft/observe/*' -not -path '*/weft/tls/*' \
        -not -path '*/weft/http/*' -not -path '*/weft/sim/*' -not -path '*/weft/redis/*' \
        -not -path '*/weft/postgres/*' -not -path '*/weft/nats/*' -not -path '*/weft/grpc/*' | sort | paste -sd :)
    export CCACHE_EXTRAFILES
}

# ---- Steps. The variables leg and log, which run_leg sets, tell them the leg. within is a command
# to run them under: a root of another system.

# Discards its input, but shows a line of it from time to time, so that a long step looks alive.
heartbeat() {
    local line shown=$SECONDS
    while IFS= read -r line; do
        if ((SECONDS - shown >= 15)); then
            printf '    %s\n' "${line:0:110}"
            shown=$SECONDS
        fi
    done
}

# step TEXT COMMAND...: runs the command, with its output in the log.
step() {
    local text=$1 status=0 begun=$SECONDS
    shift
    printf '  %s: %s\n' "$leg" "$text"
    printf '==== %s: %s\n' "$text" "$*" >>"$log"
    "$@" 2>&1 </dev/null | tee -a "$log" | heartbeat
    status=${PIPESTATUS[0]}
    printf '==== took %d s\n' $((SECONDS - begun)) >>"$log"
    ((status == 0)) || printf '  %s: %s FAILED with status %d after %d s\n' "$leg" "$text" "$status" $((SECONDS - begun))
    return "$status"
}

# configure_step PRESET: options has arguments of the leg for CMake. The native leg compiles the
# sources of the library one by one, as users do.
configure_step() {
    local together=ON
    [[ $1 != native ]] || together=OFF
    step "configure" ${within[@]+"${within[@]}"} cmake --preset "$1" -DWEFT_TEST_TOGETHER=ON -DWEFT_LIBRARY_TOGETHER=$together \
        -DWEFT_PRECOMPILE=ON -DWEFT_TEST_OPTIMIZATION= \
        "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" ${options[@]+"${options[@]}"}
}

# build_step PRESET [TARGET...]: continues after an error, so that one run shows all of them.
build_step() {
    local preset=$1
    shift
    configure_step "$preset" &&
        step "build" ${within[@]+"${within[@]}"} cmake --build --preset "$preset" -j "$jobs" ${@+--target "$@"} -- -k 0
}

# ctest_step PRESET ARGUMENTS...: runs ctest and shows its summary. wrapper may be a command to run
# it under.
ctest_step() {
    local preset=$1 status=0 before
    shift
    before=$(wc -l <"$log")
    rm -rf "build/$preset/results"
    step "test" ${within[@]+"${within[@]}"} ${wrapper[@]+"${wrapper[@]}"} ctest --preset "$preset" -j "$test_jobs" "$@" || status=$?
    tail -n "+$((before + 1))" "$log" | awk '/% tests passed/ { print "  " $0; next } /^The following tests FAILED/ { list = 1 } list && NF { print "  " $0 }'
    mkdir -p "build/logs/results/$leg"
    cp -f "build/$preset/results/"*.json "build/logs/results/$leg/" 2>/dev/null || true
    return "$status"
}

# Most tests run with 1, 2, 4 and 64 processors (the suffix P1, P2, P4, P64 of their names).
#
# with_procs N...: in the gate, only those numbers run. Exports GTEST_FILTER, which the caller
# declares local.
with_procs() {
    local p without=
    for p in 1 2 4 64; do
        [[ " $* " == *" $p "* ]] || without+=":*/P$p"
    done
    is_full || export GTEST_FILTER="-${without:1}"
    is_full || printf '  %s: processors %s\n' "$leg" "$*"
}

# Sets repeated: which checks with a current record run again.
repeat() {
    if is_full; then repeated=(--all); else repeated=(--sample "$(drawn 1000)"); fi
}

# ---- The legs.

leg_lint() {
    need "${base_packages[@]}" "${component_packages[@]}" "${lint_packages[@]}"
    # Runs all checks, so that one run shows everything to repair.
    local status=0 repeated
    repeat
    step "layers" python3 test/house/layers.py || status=1
    step "tidiness" python3 tools/tidy.py || status=1
    step "words" python3 tools/words.py || status=1
    step "documentation" python3 tools/docs.py || status=1
    step "format (./dev format repairs it)" format_check || status=1
    step "configure" cmake --preset clang -DWEFT_PRECOMPILE=OFF -DWEFT_TEST_TOGETHER=OFF -DWEFT_LIBRARY_TOGETHER=OFF "-DCMAKE_CXX_COMPILER_LAUNCHER=" &&
        step "clang-tidy" python3 tools/lint.py --build build/clang --jobs "$jobs" "${repeated[@]}" || status=1
    return "$status"
}

format_check() { sources | xargs -0 clang-format-19 --dry-run --Werror; }

leg_native() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" "${observe_packages[@]}" "${debugger_packages[@]}" valgrind
    local GTEST_FILTER pairs=("1 2" "1 4" "1 64" "2 4" "2 64" "4 64")
    build_step native &&
        step "headers of adapters alone" cmake --build --preset native -j "$jobs" --target weft_asio_verify_interface_header_sets || return 1
    # shellcheck disable=SC2086
    with_procs ${pairs[$(drawn 6)]}
    ctest_step native -LE "^(model|spin$(if_gate '|long'))\$"
}

# The inner loop: it compiles little, and runs few tests that wait for time to pass.
leg_quick() {
    need "${base_packages[@]}"
    local test_jobs=$((2 * jobs))
    local -x GTEST_FILTER="-*/P1:*/P4:*/P64:MillionParked.*:StragglerWithoutAG.*:Idle.AnIdle*:Sysmon.RescansFor*"
    GTEST_FILTER+=":Deadlock.IsReportedWhenAnotherRuntimeStopsWorking:ProcessEnd.MainMayLeave*:*HogShare*:CalmNetpoll.EachOfMany*"
    build_step native {unit,conformance,death,exceptions}_tests &&
        ctest_step native -L '^(unit|conformance|death|exceptions|house)$' -E '^(files_without_io_uring|house.bench_.*)$'
}

# It is not among the usual legs, because it takes as long as three of them. Each of native, asan
# and tsan has a part of it (label under_storm).
leg_storm() {
    need "${base_packages[@]}" "${component_packages[@]}" "${clang_packages[@]}"
    local -x RUN_SLICE=0.1 RUN_DEBUG=retake=always
    local suites='^(unit|conformance|corpus|exceptions|c)$' wrapper=()
    build_step native && ctest_step native -L "$suites" &&
        build_step asan && ctest_step asan -L "$suites" || return 1
    setarch -R true 2>/dev/null && wrapper=(setarch -R)  # as in leg_tsan
    build_step tsan && ctest_step tsan -L "$suites"
}

# The gate verifies the record of the checks, and runs those without a record and a sample of the
# others; test/house/model_record.py.
leg_model() {
    need "${base_packages[@]}" "${model_packages[@]}"
    local repeated
    repeat
    configure_step native &&
        step "model checks" python3 test/house/model_record.py --build build/native --jobs "$jobs" "${repeated[@]}"
}

leg_clang() {
    need "${base_packages[@]}" "${clang_packages[@]}"
    local options=(-DWEFT_TLS=OFF -DWEFT_ASIO=OFF -DWEFT_BUILD_EXAMPLES=OFF -DWEFT_PRECOMPILE=OFF)
    if is_full; then
        options+=("$quickly_compiled")
        build_step clang && ctest_step clang -LE '^(budget|example|house|soak|under_storm)$'
    else
        build_step clang {exceptions,instrumented,instrumented_loops,storm}_tests &&
            ctest_step clang -L '^(exceptions|instrumented|instrumented_loops|storm)$'
    fi
}

# For legs that are about compilers: half of the time that tests take to compile. Library and
# examples are optimized as always.
quickly_compiled=-DWEFT_TEST_OPTIMIZATION=-O0

# Without precompiled headers, each source alone, and with a library whose headers include few others:
# a missing include fails.
leg_libcxx() {
    need "${base_packages[@]}" "${component_packages[@]}" "${clang_packages[@]}" libc++-19-dev libc++abi-19-dev
    local options=() targets=(weft weft_instrument weft_components 01_hello 02_ping_pong)
    if is_full; then
        options=(-DWEFT_PRECOMPILE=OFF -DWEFT_LIBRARY_TOGETHER=OFF "$quickly_compiled")
        targets+=(examples/all {unit,conformance,exceptions,storm}_tests)
    fi
    build_step libcxx "${targets[@]}" && step "headers" python3 test/house/headers.py --work build/headers --jobs "$jobs" || return 1
    if is_full; then
        ctest_step libcxx -L '^(unit|conformance|exceptions|storm|example)$'
    else
        step "hello" build/libcxx/examples/01_hello && step "ping pong" build/libcxx/examples/02_ping_pong
    fi
}

leg_shared() {
    need "${base_packages[@]}" "${component_packages[@]}" pkgconf python3-clang-19
    build_step shared storm_tests weft_instrument weft_components && ctest_step shared -L '^storm$' &&
        step "exported names" python3 tools/exports.py --check build/shared &&
        step "consumers" python3 test/house/consumer.py --installed build/shared
}

leg_lto() {
    need "${base_packages[@]}"
    build_step lto storm_tests && ctest_step lto -L '^storm$'
}

# What the gate runs under a sanitizer: the suites that test memory and races, and the canaries,
# which the sanitizer must find.
sanitizer_suites='^(unit|conformance|corpus|exceptions|storm|http|http_client|canary)$'
sanitizer_targets=({unit,conformance,corpus,exceptions,storm,http,http_client}_tests)

# sanitizer_leg PRESET CANARY...
sanitizer_leg() {
    local preset=$1 canary canaries=()
    shift
    for canary in "$@"; do canaries+=("canary_$canary"); done
    if is_full; then
        local options=(-DWEFT_BUILD_EXAMPLES=ON)
        build_step "$preset" && ctest_step "$preset"
    else
        local options=(-DWEFT_BUILD_EXAMPLES=OFF "$quickly_compiled")
        build_step "$preset" "${sanitizer_targets[@]}" "${canaries[@]}" &&
            ctest_step "$preset" -L "$sanitizer_suites" -E '^files_without_io_uring$'
    fi
}

leg_asan() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" "${clang_packages[@]}"
    local GTEST_FILTER procs=(1 2 4)
    with_procs "${procs[$(drawn 3)]}"  # a memory fault shows with any number
    sanitizer_leg asan heap_overflow integer_overflow
}

leg_tsan() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" "${clang_packages[@]}"
    # The sanitizer's shadow memory needs addresses that randomization may occupy. Some containers
    # forbid setarch.
    local wrapper=()
    setarch -R true 2>/dev/null && wrapper=(setarch -R)
    local GTEST_FILTER procs=(2 4)
    with_procs "${procs[$(drawn 2)]}"  # with one, no two green threads run at the same time
    sanitizer_leg tsan data_race green_thread_race
}

# emulated_leg PROCESSOR: a preset with that name.
emulated_leg() {
    local processor=$1
    need "${base_packages[@]}" "g++-$processor-linux-gnu" qemu-user
    local -x WEFT_TEST_SCALE=${WEFT_TEST_SCALE:-10}
    local GTEST_FILTER suites=(unit exceptions storm) targets=() options=() without='^files_without_io_uring$'
    if is_full; then
        # 64 processors test nothing that other numbers do not: the emulator's memory model is not
        # weaker for them.
        export GTEST_FILTER="-*/P1:*/P64"
        suites+=(conformance death corpus c instrumented instrumented_loops gdb)
        need gdb-multiarch
        options=(-DWEFT_TLS=OFF -DWEFT_ASIO=OFF -DWEFT_BUILD_EXAMPLES=ON)  # there is no OpenSSL for it
    else
        with_procs 2
        targets=("${suites[@]/%/_tests}")
    fi
    build_step "$processor" ${targets[@]+"${targets[@]}"} && ctest_step "$processor" -L "^($(IFS='|' && echo "${suites[*]}"))\$" -E "$without"
}

leg_aarch64() { emulated_leg aarch64; }

leg_riscv64() { emulated_leg riscv64; }

leg_assemble() {
    need python3 python3-pip clang-19 llvm-19 lld-19
    step "assemble" python3 test/house/assemble.py && step "emulate" python3 test/house/emulated_switch.py build/unicorn
}

leg_consumer() {
    need "${base_packages[@]}" "${component_packages[@]}" pkgconf
    build_step native weft weft_instrument weft_components && step "consumers" python3 test/house/consumer.py build/native
}

# Static programs with another C library. The gate links nothing: the first link builds libc++, musl
# and more, which takes one to two minutes.
leg_musl() {
    need "${base_packages[@]}" python3-pip
    local -x CCACHE_COMPILERCHECK=content CCACHE_COMPILERTYPE=clang  # the compiler is a script, test/legs/zig.sh
    local options=(-DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=OFF -DWEFT_PRECOMPILE=OFF)
    step "compiler" test/legs/zig.sh build/zig || return 1
    if is_full; then
        options=(-DWEFT_BUILD_TESTS=ON -DWEFT_BUILD_EXAMPLES=ON -DWEFT_PRECOMPILE=OFF)
        suites_step musl
    else
        build_step musl weft weft_instrument
    fi
}

# Systems that no program of ours can run on here, and Windows, whose programs wine runs. The linker
# refuses an executable with a symbol that neither we nor the system's libraries have. Without
# optimization: it finds as much.
leg_ports() {
    need "${base_packages[@]}" python3-pip g++-mingw-w64-x86-64-posix wine64
    local -x CCACHE_COMPILERCHECK=content CCACHE_COMPILERTYPE=clang  # as in leg_musl
    local options=(-DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=ON) target status=0
    for target in x86_64-freebsd aarch64-macos x86_64-macos; do
        step "compiler for $target" test/legs/zig.sh build/zig "$target" || return 1
        build_step "$target" weft weft_instrument examples/all || status=1
    done
    windows_step || status=1
    return "$status"
}

# As leg_musl, for other processors. Without optimization.
leg_musl_cross() {
    need "${base_packages[@]}" python3-pip qemu-user
    local -x CCACHE_COMPILERCHECK=content CCACHE_COMPILERTYPE=clang WEFT_TEST_SCALE=${WEFT_TEST_SCALE:-10} GTEST_FILTER="-*/P1:*/P64"
    local options=(-DWEFT_BUILD_EXAMPLES=ON "$quickly_compiled") target status=0
    for target in aarch64-linux-musl riscv64-linux-musl; do
        step "compiler for $target" test/legs/zig.sh build/zig "$target" || return 1
        build_step "$target" weft examples/all {unit,exceptions,storm}_tests && ctest_step "$target" -L '^(unit|exceptions|storm)$' || status=1
    done
    return "$status"
}

windows_examples=(01_hello 02_ping_pong 03_prime_sieve 04_worker_pool 06_deadlines 07_futures 08_plain_threads
    09_inside_a_library 10_select 11_scopes 12_timers 13_coroutines)

# Without optimization. A step for the first start of wine, which makes a folder with the files of a
# system. ctest has a limit of time for each test. wine starts threads slowly. Its server keeps a
# file in its temporary directory when it ends; the programs use the one in the prefix.
windows_step() {
    local -x WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=;winedbg.exe=d'
    local -x WEFT_TEST_SCALE=${WEFT_TEST_SCALE:-10} TMPDIR=$PWD/build/wine_server
    mkdir -p "$TMPDIR"
    local options=(-DWEFT_BUILD_TESTS=ON -DWEFT_BUILD_EXAMPLES=ON "$quickly_compiled")
    build_step windows weft weft_instrument "${windows_examples[@]}" {unit,conformance,death,exceptions,storm}_tests || return 1
    step "first start of wine" timeout 300 /usr/lib/wine/wine64 wineboot -i || return 1
    local names
    names=$(printf '|%s' "${windows_examples[@]}")
    ctest_step windows -R "^(example\\.(${names#|})|(unit|death|exceptions|storm)\\..*)$" &&
        GTEST_FILTER='-*/P4:*/P64' ctest_step windows -L '^conformance$' &&
        step "end of wine" timeout 60 /usr/lib/wine/wineserver --wait
}

leg_modes() {
    need "${base_packages[@]}" "${clang_packages[@]}" libc++-19-dev libc++abi-19-dev clang-14 clang-16
    step "compile" python3 test/house/compiles.py --jobs "$jobs" clang++-14:20 clang++-16:20 g++:23 \
        clang++-19:23:libc++ clang++-19:26:libc++
}

# suites_step PRESET: what must pass with every compiler, on two of the four numbers of processors.
# The choice does not depend on the compiler.
suites_step() {
    local -x GTEST_FILTER="-*/P1:*/P64"
    options+=("$quickly_compiled")
    build_step "$1" weft examples/all {unit,conformance}_tests && ctest_step "$1" -L '^(unit|conformance|example)$'
}

# root_leg SUITE COMPILER: a preset with the compiler's name, in a root of that release of Debian.
root_leg() {
    local suite=$1 compiler=$2 options=() within launcher=  # a root has no cache
    need "${base_packages[@]}" debootstrap
    within=(test/legs/root.sh "$suite" "$(root_packages "$suite")")
    suites_step "$compiler"
}

# One set for all legs of a release. Otherwise each leg would build its own root.
root_packages() {
    printf 'cmake,ninja-build,googletest,libgtest-dev,python3,git,'
    printf 'libdw-dev,libprotozero-dev,zlib1g-dev,libboost-dev,'  # weft::observe, weft::asio
    case $1 in
        trixie) printf 'g++' ;;
        sid) printf 'g++-15,clang-21' ;;
    esac
}

leg_gcc14() { root_leg trixie gcc14; }

leg_gcc15() {
    root_leg sid gcc15 && step "C++26" test/legs/root.sh sid "$(root_packages sid)" python3 test/house/compiles.py --jobs "$jobs" g++-15:26
}

leg_clang21() {
    root_leg sid clang21 && step "C++26" test/legs/root.sh sid "$(root_packages sid)" python3 test/house/compiles.py --jobs "$jobs" clang++-21:26
}

# What the suites are, and what each set of refused calls stands for: test/kernels/suites.py,
# refusals.txt. If one step fails, the other still runs.
leg_kernels() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" qemu-system-x86 busybox-static cpio iproute2
    local status=0
    build_step native refuse {unit,conformance}_tests examples/all || return 1
    kernels_step "refused calls" suites.py --jobs "$test_jobs" || status=1
    kernels_step "Linux 6.1" boot.py || status=1
    return "$status"
}

# kernels_step TEXT SCRIPT ARGUMENTS...: shows the summary of a script of test/kernels.
kernels_step() {
    local text=$1 script=$2 status=0 before
    shift 2
    before=$(wc -l <"$log")
    step "$text" python3 "test/kernels/$script" --build build/native "$@" || status=1
    tail -n "+$((before + 1))" "$log" | sed -n 's/^kernels: /  /p'
    return "$status"
}

# Chromium reads every page, so this takes minutes.
leg_site() {
    need "${site_packages[@]}" chromium
    step "tools" site_tools tools/site/requirements.txt test/site/requirements.txt &&
        step "build" build/site_tools/bin/python tools/site/build.py &&
        step "site" build/site_tools/bin/python test/site/site_test.py build/site --pictures build/logs/site
}

# Each form of package is built and used by a test of its own: docs/packages.md.
leg_packages() {
    need "${base_packages[@]}" "${component_packages[@]}" pkgconf debootstrap lintian python3-clang-19 python3-pip python3-venv
    local -x WEFT_PACKAGE_JOBS=$jobs
    local test options=(-DWEFT_LIBRARY_TOGETHER=OFF)  # a test compares the list of compiled sources
    build_step packages && step "exported names" python3 tools/exports.py --check build/packages || return 1
    for test in manual bill spack debian source vcpkg conan meson_wrap bazel; do
        step "$test" python3 "test/packages/$test.py" build/packages || return 1
    done
}

# ---- Running legs.

# left_behind FOLDER MARK: prints what a leg has left behind, and fails if there is anything: files
# in its temporary directory, and processes. Only processes can hold sockets.
left_behind() {
    local folder=$1 mark=$2 status=0 process
    if [[ -n $(ls -A "$folder") ]]; then
        printf '  %s: FAILED: left in the temporary directory:\n' "$leg"
        find "$folder" -mindepth 1 | head -n 12 | sed 's/^/    /'
        status=1
    fi
    for process in /proc/[0-9]*; do
        [[ ${process##*/} != "$BASHPID" && ${process##*/} != $$ ]] || continue
        if grep -qsz "^WEFT_LEG_MARK=$mark\$" "$process/environ" && [[ -s $process/cmdline ]]; then
            printf '  %s: FAILED: left running: %s %s\n' "$leg" "${process##*/}" "$(tr '\0' ' ' <"$process/cmdline" 2>/dev/null)"
            kill -KILL "${process##*/}" 2>/dev/null || true
            status=1
        fi
    done
    return "$status"
}

# run_leg NAME: 0 if it passed.
run_leg() {
    leg=$1
    declare -F "leg_$leg" >/dev/null || die "there is no leg $leg; the legs are: quick storm $(WEFT_TEST_FULL=1 leg_names | tr '\n' ' ')"
    log=build/logs/$leg.log
    mkdir -p build/logs
    rm -rf "build/logs/results/$leg"
    : >"$log"
    local begun=$SECONDS status=0 folder mark="$$.$leg"
    folder=$(mktemp -d /tmp/weft-leg.XXXXXX)
    chmod 711 "$folder"  # servers that tests start as another user need their files in it
    (
        export TMPDIR=$folder TEST_TMPDIR=$folder WEFT_LEG_MARK=$mark
        "leg_$leg"
    ) || status=1
    left_behind "$folder" "$mark" || status=1
    rm -rf "$folder"
    leg_seconds=$((SECONDS - begun))
    if ((status == 0)); then
        say "leg $leg passed in $(duration $leg_seconds)"
        return 0
    fi
    say "leg $leg FAILED after $(duration $leg_seconds); the errors in $log, and its end:"
    grep -nE '^FAILED: |(^|[^a-z_])(fatal )?error: |\*\*\*(Failed|Timeout|Exception)' "$log" | head -n 40 | cut -c 1-240
    tail -n 80 "$log" | cut -c 1-240
    # Printed last, because some tools show only the last lines: each test that failed, with what it
    # expected.
    grep -aE -A 4 '^([0-9]+: )?[^ ]+: Failure$|^([0-9]+: )?\[  FAILED  \] [^ ]+\.' "$log" | grep -aE 'Failure$|FAILED|Expected|Value of|Actual|Which|actual' |
        sed 's/^[0-9]*: //' | awk '!seen[$0]++' | tail -n 30 | cut -c 1-240
    return 1
}

duration() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

# run_legs NAME...: ends with the table and with a line that counts the legs.
run_legs() {
    local name rows=() passed=0 failed=0 begun=$SECONDS
    use_compiler_cache
    for name in "$@"; do
        if run_leg "$name"; then
            passed=$((passed + 1))
            rows+=("$(printf '  %-10s passed  %s' "$name" "$(duration $leg_seconds)")")
        else
            failed=$((failed + 1))
            rows+=("$(printf '  %-10s FAILED  %s' "$name" "$(duration $leg_seconds)")")
        fi
    done
    printf '\n'
    printf '%s\n' "${rows[@]}"
    printf '  %-10s         %s\n\n' all "$(duration $((SECONDS - begun)))"
    python3 test/legs/slowest.py "$@"
    printf 'legs: %d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

run_all_legs() {
    need "${base_packages[@]}"
    if is_full; then
        say "full: from empty build directories, without a compiler cache"
        rm -rf build/{native,asan,tsan,clang,libcxx,aarch64,riscv64,shared,lto,musl,x86_64-freebsd,aarch64-macos,x86_64-macos}
        rm -rf build/{aarch64,riscv64}-linux-musl
        rm -rf build/{gcc14,gcc15,clang21,packages,packages_*,roots,zig}
    fi
    # shellcheck disable=SC2046
    run_legs $(leg_names)
}
