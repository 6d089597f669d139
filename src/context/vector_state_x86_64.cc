// vector_state_x86_64.cc: how this CPU saves vector registers. See save_vectors_x86_64.h.
#include <cpuid.h>

#include "context/interrupt.h"

namespace {

constexpr unsigned xsave_enabled = 1U << 27;  // leaf 1, ecx: by the OS
constexpr unsigned has_xsavec = 1U << 1;      // leaf 13.1, eax

uint32_t find_form() noexcept {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & xsave_enabled) == 0) return 0;
    if (__get_cpuid_count(13, 1, &a, &b, &c, &d) == 0) return 1;
    return (a & has_xsavec) != 0 ? 2 : 1;
}

}  // namespace

extern "C" {
// used: by assembly, also in other modules
[[gnu::used, gnu::visibility("default")]] uint32_t run_vector_form = find_form();
}
