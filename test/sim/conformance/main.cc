// main.cc: the suite conformance, whose tests WEFT_SIM_ALL=1 runs in simulations.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

#include <weft/sim/gtest.h>
#include <weft/weft.h>

#include "support/resources.h"
#include "support/scan_at_end.h"

// A test that starts a thread is not repeatable, and must be in left_out.txt.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*start)(void*),
                              void* argument) noexcept {
    if (weft::this_g::id() != 0) {
        ADD_FAILURE() << "the test starts a plain thread; add it to left_out.txt";
        return EAGAIN;
    }
    using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto of_libc = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
    return of_libc(thread, attributes, start, argument);
}

int main(int argc, char** argv) {
    weft::test::scan_for_leaks = nullptr;             // simulations find leaks themselves
    static_cast<void>(weft::test::resources::now());  // starts a thread, the first time
    return weft::sim::run_all_tests(argc, argv);
}
