// thread_locals_linux.cc: see thread_locals.h.
#include <link.h>

#include <csignal>

#include "os/thread_locals.h"

namespace weft::detail::os {

namespace {

using visitor = void (*)(const void* begin, std::size_t size) noexcept;

int visit_module(dl_phdr_info* module, std::size_t /*size*/, void* use) noexcept {
    if (module->dlpi_tls_data == nullptr) return 0;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
        const auto& segment = module->dlpi_phdr[i];
        if (segment.p_type == PT_TLS) (*static_cast<const visitor*>(use))(module->dlpi_tls_data, segment.p_memsz);
    }
    return 0;
}

}  // namespace

void visit_thread_locals(visitor use) noexcept {
    ::dl_iterate_phdr(&visit_module, &use);
    stack_t alternate = {};
    if (::sigaltstack(nullptr, &alternate) == 0 && alternate.ss_size != 0) use(alternate.ss_sp, alternate.ss_size);
}

}  // namespace weft::detail::os
