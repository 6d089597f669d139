# legs.sh: what ./dev test is made of. Sourced by ./dev.
#
# A leg is a function leg_NAME: one build and what is run in it. Its steps write to build/logs/NAME.log and print what
# matters; a leg fails with its first step that fails. Run one by one by run_legs, or all by run_all_legs, which makes each leg a
# test of the small CMake project beside this file, so that the whole ends with ctest's closing lines.
#
# All of them, as they are when run one by one, take more than an hour and a half on two cores. So ./dev test exports
# WEFT_TEST_SHORT=1, and the legs leave out what another leg has as well, or what hardly ever finds anything: the tests with the label long
# (large searches of models, most of their mutants, most canaries of the soak test), with sanitizers the examples, with
# Clang alone some suites, of clang-tidy the static analyzer, and of the numbers of processors with which a test is run (1, 2, 4, 64) all
# but two with a sanitizer or an emulator. ./dev test full leaves out nothing.

# One line each: the name, and what it is about. In the order in which they run: what fails soonest comes first.
legs() {
    cat <<'END'
lint        clang-tidy, format, layers, tidiness, documentation
native      GCC: all suites, examples, instruction budgets; every public header compiles alone
model       model checks of the real headers, and Spin models, with their mutants
clang       Clang with thread-safety analysis and the inline context switch: all suites but corpus and stress
shared      GCC, shared library and -fPIC: steal storm; find_package and pkg-config against the installed tree
lto         GCC, link-time optimization: steal storm
asan        Clang, address and undefined-behaviour sanitizers: all suites
tsan        Clang, thread sanitizer: all suites
aarch64     GCC for aarch64 under an emulator: unit, conformance, exceptions, steal storm
assemble    the context switch as ELF, Mach-O and COFF objects
consumer    find_package, pkg-config and add_subdirectory against the installed tree
END
}

leg_names() { legs | awk '{ print $1 }'; }

# Whether what is long is left out.
is_short() { [[ -n ${WEFT_TEST_SHORT:-} ]]; }
if_short() { ! is_short || printf '%s' "$1"; }

# ---- Steps. They know the leg by the variables leg and log, which run_leg sets.

# Passes its input on to nobody; now and then shows a line of it, so that a long step looks alive.
heartbeat() {
    local line shown=$SECONDS
    while IFS= read -r line; do
        if ((SECONDS - shown >= 15)); then
            printf '    %s\n' "${line:0:110}"
            shown=$SECONDS
        fi
    done
}

# step TEXT COMMAND...: runs the command with its output in the log.
step() {
    local text=$1 status=0 begun=$SECONDS
    shift
    printf '  %s: %s\n' "$leg" "$text"
    printf '==== %s: %s\n' "$text" "$*" >>"$log"
    "$@" 2>&1 </dev/null | tee -a "$log" | heartbeat
    status=${PIPESTATUS[0]}
    ((status == 0)) || printf '  %s: %s FAILED with status %d after %d s\n' "$leg" "$text" "$status" $((SECONDS - begun))
    return "$status"
}

# build_step PRESET [TARGET...]: goes on after an error, so that one run shows them all. Tests are compiled and run several at a time,
# which takes two thirds of the time for all of them; but not in the inner loop. There the library's own sources are compiled as its users
# do, too; clang-tidy looks at them in that way. options: of the leg, for CMake.
build_step() {
    local preset=$1 together=ON precompile=ON
    shift
    [[ $leg != quick ]] || { together=OFF precompile=OFF; }
    step "configure" cmake --preset "$preset" -DWEFT_TEST_TOGETHER=$together -DWEFT_PRECOMPILE=$precompile ${options[@]+"${options[@]}"} &&
        step "build" cmake --build --preset "$preset" -j "$jobs" ${@+--target "$@"} -- -k 0
}

# ctest_step PRESET ARGUMENTS...: ctest with its summary shown. wrapper may hold a command to run it under.
ctest_step() {
    local preset=$1 status=0 before
    shift
    before=$(wc -l <"$log")
    # ctest leaves out what all of its -LE mean: so who gives one names the long ones in it.
    ! is_short || [[ " $* " == *" -LE "* ]] || set -- "$@" -LE '^long$'
    # What ctest has found in a program it keeps until that changes: so that must be all, whatever this run leaves out.
    step "list" ${wrapper[@]+"${wrapper[@]}"} env -u GTEST_FILTER ctest --preset "$preset" -N || return 1
    step "test" ${wrapper[@]+"${wrapper[@]}"} ctest --preset "$preset" -j "$jobs" "$@" || status=$?
    tail -n "+$((before + 1))" "$log" | awk '/% tests passed/ { print "  " $0; next } /^The following tests FAILED/ { list = 1 } list && NF { print "  " $0 }'
    return "$status"
}

# all_but_procs N...: if it is to be short, no test is run with one of these numbers of processors. The native leg runs them with all.
# Only of suites that are run in shards: ctest names the others to their programs one by one, and so does under_storm.
all_but_procs() {
    local without
    printf -v without ':*/P%s' "$@"
    ! is_short || export GTEST_FILTER="-${without:1}"
}

# ON once more, because the build may have been a short one before.
examples_option() { if is_short; then echo -DWEFT_BUILD_EXAMPLES=OFF; else echo -DWEFT_BUILD_EXAMPLES=ON; fi; }

# ---- The legs.

leg_lint() {
    need "${base_packages[@]}" "${component_packages[@]}" "${lint_packages[@]}"
    # All of them, so that one run shows all there is to repair.
    local status=0
    step "layers" python3 test/house/layers.py || status=1
    step "tidiness" python3 tools/tidy.py || status=1
    step "documentation" python3 tools/docs.py || status=1
    step "format (./dev format repairs it)" format_check || status=1
    step "configure" cmake --preset clang -DWEFT_PRECOMPILE=OFF &&
        step "clang-tidy" run-clang-tidy-19 -clang-tidy-binary clang-tidy-19 -p build/clang -quiet -j "$jobs" "-checks=$(if_short '-clang-analyzer-*')" \
            "^$PWD/src/(?!.*_test\\.cc\$).*\\.cc\$" || status=1
    return "$status"
}

format_check() { sources | xargs -0 clang-format-19 --dry-run --Werror; }

leg_native() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" valgrind
    build_step native &&
        step "public headers alone" cmake --build --preset native -j "$jobs" --target all_verify_interface_header_sets &&
        ctest_step native -LE "^(model|spin$(if_short '|long'))\$"
}

leg_quick() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}"
    build_step native && ctest_step native -L '^(unit|conformance|death|exceptions|example|house|tls|asio)$'
}

# Not one of all legs: it takes as long as three of them. A part of it is in each of native, asan and tsan (label under_storm).
leg_storm() {
    need "${base_packages[@]}" "${component_packages[@]}" "${clang_packages[@]}"
    local -x RUN_SLICE=0.1 RUN_DEBUG=retake=always
    local suites='^(unit|conformance|corpus|exceptions|c)$' wrapper=()
    build_step native && ctest_step native -L "$suites" &&
        build_step asan && ctest_step asan -L "$suites" || return 1
    setarch -R true 2>/dev/null && wrapper=(setarch -R)  # as in leg_tsan
    build_step tsan && ctest_step tsan -L "$suites"
}

leg_model() {
    need "${base_packages[@]}" "${model_packages[@]}"
    build_step native "models$(if_short _short)" && ctest_step native -L '^(model|spin)$'
}

# Components and examples are compiled by Clang for the sanitizers, too.
leg_clang() {
    need "${base_packages[@]}" "${clang_packages[@]}"
    local options=(-DWEFT_TLS=OFF -DWEFT_ASIO=OFF -DWEFT_BUILD_EXAMPLES=OFF)
    if is_short; then
        build_step clang {unit,exceptions,instrumented,instrumented_loops,storm}_tests &&
            ctest_step clang -L '^(unit|exceptions|instrumented|instrumented_loops|storm)$'
    else
        build_step clang && ctest_step clang -LE '^(budget|corpus|example|house|soak|stress|under_storm)$'
    fi
}

leg_shared() {
    need "${base_packages[@]}" "${component_packages[@]}" pkgconf
    build_step shared storm_tests weft_instrument weft_components && ctest_step shared -L '^storm$' &&
        step "consumers" python3 test/house/consumer.py --installed build/shared
}

leg_lto() {
    need "${base_packages[@]}"
    build_step lto storm_tests && ctest_step lto -L '^storm$'
}

leg_asan() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" "${clang_packages[@]}"
    local options=("$(examples_option)")
    local GTEST_FILTER
    all_but_procs 2 64  # a mistake with memory is one with any number; under_storm runs them with 2
    build_step asan && ctest_step asan
}

leg_tsan() {
    need "${base_packages[@]}" "${component_packages[@]}" "${example_packages[@]}" "${clang_packages[@]}"
    # The sanitizer's shadow memory wants the addresses that randomization may take. Some containers forbid to ask.
    local wrapper=()
    setarch -R true 2>/dev/null && wrapper=(setarch -R)
    local options=("$(examples_option)") GTEST_FILTER
    all_but_procs 1 64  # with one, no two green threads run at once
    build_step tsan && ctest_step tsan
}

leg_aarch64() {
    need "${base_packages[@]}" "${cross_packages[@]}"
    local -x WEFT_TEST_SCALE=${WEFT_TEST_SCALE:-10}
    local GTEST_FILTER
    all_but_procs 1 64
    build_step aarch64 unit_tests conformance_tests exceptions_tests storm_tests &&
        ctest_step aarch64 -L '^(unit|conformance|exceptions|storm)$'
}

leg_assemble() {
    need python3 clang-19 llvm-19
    step "assemble" python3 test/house/assemble.py
}

leg_consumer() {
    need "${base_packages[@]}" "${component_packages[@]}" pkgconf
    build_step native weft weft_instrument weft_components && step "consumers" python3 test/house/consumer.py build/native
}

# ---- Running them.

# run_leg NAME: 0 if it passed.
run_leg() {
    leg=$1
    declare -F "leg_$leg" >/dev/null || die "there is no leg $leg; the legs are: quick storm $(leg_names | tr '\n' ' ')"
    log=build/logs/$leg.log
    mkdir -p build/logs
    : >"$log"
    local begun=$SECONDS
    if "leg_$leg"; then
        say "leg $leg passed in $(duration $((SECONDS - begun)))"
        return 0
    fi
    say "leg $leg FAILED after $(duration $((SECONDS - begun))); the errors in $log, and its end:"
    grep -nE '^FAILED: |(^|[^a-z_])(fatal )?error: |\*\*\*(Failed|Timeout|Exception)' "$log" | head -n 40 | cut -c 1-240
    tail -n 80 "$log" | cut -c 1-240
    # Last, because some show the last lines only: each test that failed, with what it expected.
    grep -aE -A 4 '^([0-9]+: )?[^ ]+: Failure$|^([0-9]+: )?\[  FAILED  \] [^ ]+\.' "$log" | grep -aE 'Failure$|FAILED|Expected|Value of|Actual|Which|actual' |
        sed 's/^[0-9]*: //' | awk '!seen[$0]++' | tail -n 30 | cut -c 1-240
    return 1
}

duration() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

run_legs() {
    local name failed=()
    for name in "$@"; do
        run_leg "$name" || failed+=("$name")
    done
    ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
}

run_all_legs() {
    need "${base_packages[@]}"
    export WEFT_TEST_SHORT=${WEFT_TEST_SHORT-1}
    # A part of the random walks of the model checks; ./dev test full, and ./dev model, go all of them.
    ! is_short || export WEFT_MODEL_PERCENT=${WEFT_MODEL_PERCENT:-10}
    mkdir -p build/logs
    cmake -S test/legs -B build/legs -G Ninja >build/logs/legs.log || die "could not configure test/legs: see build/logs/legs.log"
    exec ctest --test-dir build/legs --verbose
}
