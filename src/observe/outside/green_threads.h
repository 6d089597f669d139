// green_threads.h: the runtimes and green threads of another process, or of a core file.
//
// Gs lie in chunks (sched/g_pool.h), each of which is read at once. The process may run meanwhile,
// so all that is read may be of different instants, and a list may lead anywhere. So lists are
// bounded, and addresses are only handed to target_memory.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <weft/debug.h>

#include "observe/outside/code.h"
#include "observe/outside/layout.h"
#include "observe/outside/memory.h"

namespace weft::observe::detail {

enum class seen_state : uint8_t { unused, runnable, running, in_call, waiting, unknown };

struct seen_g {
    uint64_t address = 0;
    uint64_t sp = 0;
    uint64_t pc = 0;
    uint64_t fp = 0;
    uint64_t stack = 0;  // its record: stack/stack.h
    uint64_t id = 0;
    uint64_t parent = 0;  // 0: a plain thread
    uint64_t waiting = 0;
    uint64_t where = 0;   // a source_location
    uint64_t labels = 0;  // 0: none
    int64_t since_ns = 0;
    uint16_t last_p = 0;
    uint8_t reason = 0;
    seen_state state = seen_state::unused;
    bool never_ran = false;
    bool is_high = false;
    bool is_low = false;
    bool is_pinned = false;
    char name[33] = "";

    // Whether it has saved its registers.
    [[nodiscard]] bool is_parked() const noexcept {
        return !never_ran &&
               (state == seen_state::waiting || state == seen_state::runnable || state == seen_state::in_call);
    }

    // Whether b is the same G, and has not run in between.
    [[nodiscard]] bool is_as(const seen_g& b) const noexcept {
        return id == b.id && state == b.state && sp == b.sp && pc == b.pc && fp == b.fp && since_ns == b.since_ns;
    }
};

// An OS thread of a runtime.
struct seen_m {
    uint64_t address = 0;
    pid_t tid = 0;
    uint64_t g = 0;        // the G on it; 0: none
    uint64_t lent_by = 0;  // the G in a blocking call on it
    bool has_p = false;
    uint32_t p = 0;  // the index of the P it has or had
};

struct seen_p {
    uint64_t address = 0;
    uint32_t index = 0;
    bool is_idle = false;
    uint64_t owner = 0;  // the address of its M; 0: none
    uint64_t queued = 0;
    uint64_t switches = 0;
    int64_t now_ns = 0;
};

struct seen_runtime {
    uint64_t address = 0;
    unsigned number = 0;  // from 1
    std::string name;
    std::vector<seen_p> ps;                   // those in use
    std::map<std::string, uint64_t> figures;  // fields of stats_snapshot that can be read
    latency_histogram latency;
    std::vector<seen_m> ms;
    uint64_t queued_global = 0;  // in the queues that belong to no P

    // nullptr: it runs on none.
    [[nodiscard]] const seen_m* runner_of(uint64_t g) const noexcept;
};

struct seen_place {
    std::string file;
    std::string function;
    unsigned line = 0;
};

class green_threads {
public:
    // Throws std::runtime_error.
    green_threads(target_memory& memory, code& program, layout& where);

    // That of weft::main first, then the oldest first.
    [[nodiscard]] std::vector<seen_runtime> runtimes();

    // Calls each(gs) for each chunk of a runtime.
    void for_each_chunk(const seen_runtime& of, const std::function<void(std::vector<seen_g>& gs)>& each);

    // As it is now.
    [[nodiscard]] seen_g read(uint64_t address);

    // Several at once; `into` has their addresses.
    void read_again(std::vector<seen_g>& into);

    // The text of its state, or of what it waits for, as in a dump.
    [[nodiscard]] const std::string& doing(const seen_g& g) const;
    [[nodiscard]] static const char* text(seen_state state) noexcept;

    // "key=value, key=value"
    [[nodiscard]] const std::string& labels_of(const seen_g& g);
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> label_pairs_of(const seen_g& g);
    [[nodiscard]] const seen_place& place_of(const seen_g& g);

    // The addresses of the locks or objects at which these wait; 0: unknown.
    [[nodiscard]] std::vector<uint64_t> objects_of(const std::vector<seen_g>& all);

    // The highest frame record on a stack, and the stack on which its frames continue; 0: none.
    struct stack_end {
        uint64_t highest = 0;
        uint64_t next = 0;
    };

    [[nodiscard]] stack_end end_of(uint64_t stack);

    // CLOCK_MONOTONIC; of a core file the newest that a P has read.
    [[nodiscard]] int64_t now_ns(const std::vector<seen_runtime>& all) const;

private:
    void find_fields(layout& where);
    [[nodiscard]] seen_g parse(const std::byte* g, uint64_t address) const;
    [[nodiscard]] std::string string_at(uint64_t address);
    void read_ps(seen_runtime& of);
    void find_figures(layout& where);
    void read_figures(seen_runtime& of);
    void read_ms(seen_runtime& of);

    target_memory& memory_;
    uint64_t registry_;
    uint64_t unit_size_;
    uint64_t chunk_size_;

    // Offsets, by name of the field.
    struct {
        std::size_t size;
        field_place sp, pc, fp, special, last_p, state, reason, traits, stack, id, parent, waiting, since_ns, where,
            name, labels;
    } g_{};

    struct {
        field_place next, name, is_mains, chunks, all_ms, ps_at, ps_in_use, ps_made, global, injected, high, low;
    } scheduler_{};

    struct {
        field_place next, first_unit;
    } chunk_{};

    struct {
        std::size_t size;
        field_place g, lent_by, p, tid, all_next;
    } m_{};

    struct {
        std::size_t size;
        field_place owner, run_next, state, index, now_ns, head, tail, high, low, switches;
    } p_{};

    struct {
        std::size_t size;
        field_place end, next, continues;
    } stack_{};

    struct {
        std::size_t size, entry_size;
        field_place count, key_at, key_size, value_at, value_size;
    } label_{};

    struct {
        std::size_t size;
        field_place lock, slot;
    } waiter_{};

    struct {
        uint64_t named = 0, labelled = 0, high = 0, low = 0, pinned = 0;
    } bit_;

    int64_t p_idle_ = 0;

    // A field of stats_snapshot, and where a part of it is.
    struct figure {
        const char* name;
        field_place place;
    };

    std::vector<figure> of_ps_;
    std::vector<figure> of_scheduler_;
    field_place latency_;  // of a P; no size: unknown
    field_place strings_;  // the size in a std::string of libstdc++; no size: they are libc++'s

    std::map<int64_t, seen_state> states_;
    std::map<int64_t, std::string> reasons_;
    std::map<int64_t, bool> waits_for_slot_;  // reasons: the slot is the object, not the lock
    std::unordered_map<uint64_t, std::string> labels_;
    std::unordered_map<uint64_t, seen_place> places_;
    std::vector<std::byte> buffer_;
    uint64_t first_pc_;
};

}  // namespace weft::observe::detail
