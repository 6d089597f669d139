// event.h: what the runtime records: 24 bytes for each event.
//
// An event is three words, so that a ring of them needs no lock:
//
//     ticks      os::cpu_ticks() when it happened
//     what       the kind (8 bits), a detail (8), and the id of a G (48)
//     argument   depends on the kind
//
// A string takes further events, of kind text. Each carries 16 bytes, in ticks and argument.
//
// See: docs/recording.md
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

enum class event_kind : uint8_t {
    none,
    thread,       // an M gets the ring. id: its index; argument: its tid
    run,          // G id runs. argument: the index of its P
    wait,         // it parks. detail: a wait_reason; argument: the address of the object's lock, or 0
    yield,        // it is queued again. detail: an event_yield
    end,          // it has returned
    spawn,        // G id starts. argument: a source_location. If it has a name, that comes before
    ready,        // the wait of G id is over. argument: the id of the G that ended it; 0: none did
    call,         // G id begins a blocking call
    call_over,    // that ends
    name,         // G id is now called … argument: bytes of the text that follows
    text,         // 16 bytes of a string
    p_taken,      // the M has a P. argument: its index
    p_given,      // it no longer has it. detail: an event_loss; argument: its index
    steal,        // id: how many Gs; argument: the index of the victim
    poll,         // id: how many waits for descriptors are over
    timers,       // id: how many have fired
    sleep,        // the M has no work, and sleeps
    region,       // G id begins a region of the user's. argument: its name, a literal
    region_over,  // the last one that it began ends
    counter,      // argument: the name, a literal; a value event follows
    value,        // argument: a double
    log,          // argument: bytes of the text that follows
    labels,       // G id now has these: key, 0, value, 0 … argument: bytes of the text that follows
    cpu_delay,    // argument: ns for which the thread of M id has waited for a CPU since it began
    stack,        // where G id waited, whose wait is over. argument: bytes of the text that follows: addresses
    count,        // not a kind
};

// Whether events of kind text follow.
[[nodiscard]] constexpr bool has_text(event_kind kind) noexcept {
    return kind == event_kind::name || kind == event_kind::log || kind == event_kind::labels ||
           kind == event_kind::stack;
}

enum class event_yield : uint8_t { asked_itself, preempted, had_no_p };
enum class event_loss : uint8_t { idle, handed_off, retaken };

inline constexpr unsigned event_id_bits = 48;

struct event {
    uint64_t ticks = 0;
    uint64_t what = 0;
    uint64_t argument = 0;

    [[nodiscard]] static constexpr uint64_t pack(event_kind kind, uint8_t detail, uint64_t id) noexcept {
        return uint64_t{static_cast<uint8_t>(kind)} | uint64_t{detail} << 8 | id << 16;
    }

    [[nodiscard]] constexpr event_kind kind() const noexcept { return static_cast<event_kind>(what & 0xff); }

    [[nodiscard]] constexpr uint8_t detail() const noexcept { return static_cast<uint8_t>(what >> 8); }

    [[nodiscard]] constexpr uint64_t id() const noexcept { return what >> 16; }
};

static_assert(sizeof(event) == 24);

// Events that a writer may be overwriting while others read the ring.
inline constexpr uint64_t events_under_way = 1;

// Bytes of a string in one text event.
inline constexpr std::size_t event_text = 16;

}  // namespace weft::detail
