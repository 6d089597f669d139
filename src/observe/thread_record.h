// thread_record.h: the thread-local that profilers outside of the process read:
// otel_thread_ctx_v1, by OTEP 4947, "Thread Context: Sharing Thread-Level Information with External
// Readers", in the repository opentelemetry-specification.
//
// Readers look while the thread is stopped, so only the compiler's order counts.
//
// Threads: the thread itself.
// See:     docs/trace_context.md
#pragma once

#include <cstdint>

namespace weft::observe::detail {

// The record of the OTEP, packed; its attributes follow: a byte for the key, a byte for the size,
// the text. One that is published does not change.
struct thread_record {
    uint8_t trace[16];
    uint8_t span[8];
    uint8_t valid;
    uint8_t flags;
    uint16_t attributes_size;  // of the host's byte order
};

static_assert(sizeof(thread_record) == 28 && alignof(thread_record) == 2, "the layout of OTEP 4947");

// nullptr: none. Not inlined: a compiler may keep the address of a thread-local across a switch.
void publish_record(const thread_record* record) noexcept;
[[nodiscard]] const thread_record* published_record() noexcept;

}  // namespace weft::observe::detail
