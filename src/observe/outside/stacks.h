// stacks.h: the frames of parked green threads.
//
// The compiler's tables say how to unwind each frame, which takes some microseconds, and most green
// threads of a large program park at the same few places. So a green thread whose saved registers
// lie as those of another one is first compared with that one: if the same return addresses are at
// the same places of its stack, it has the same frames. That is one read each, and hundreds of
// reads are one system call. Only if it fails is the stack unwound.
//
// Where the tables lead nowhere, frame pointers are followed.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "observe/outside/code.h"
#include "observe/outside/green_threads.h"
#include "observe/outside/memory.h"

namespace weft::observe::detail {

// The frames of one green thread, and how to recognise them on the stack of another.
struct chain {
    uint32_t number = 0;  // the same for equal return addresses
    std::vector<uint64_t> pcs;
    std::vector<uint32_t> slots;  // offsets of pcs[1] and the following from the stack pointer; empty: unknown
    bool is_cut = false;          // there are more
    bool is_whole = false;        // the outermost function was reached

    // Bytes from the stack pointer up to the last slot.
    [[nodiscard]] std::size_t window() const noexcept { return slots.empty() ? 0 : slots.back() + sizeof(uint64_t); }
};

class stacks {
public:
    static constexpr std::size_t frames_max = 64;

    stacks(target_memory& memory, code& program, green_threads& gs) : memory_(memory), code_(program), gs_(gs) {}

    // The chains of parked green threads, in their order; nullptr for others. Valid as long as this
    // object.
    [[nodiscard]] std::vector<const chain*> of(std::span<const seen_g> gs);

    // The frames of a running thread, as far as they can be found; nullptr: none.
    [[nodiscard]] const chain* of_thread(const thread_registers& at);

    // For tests.
    [[nodiscard]] std::size_t unwound_count() const noexcept { return unwound_count_; }

private:
    static constexpr std::size_t at_once = 512;
    static constexpr std::size_t window_max = 16 * 1024;
    static constexpr std::size_t candidates_max = 8;  // chains compared before a stack is unwound
    static constexpr std::size_t unwound_max = 8192;  // further ones by frame pointers, which takes less time

    // Where the saved registers lie: (resume address, frame size, depth of the stack).
    struct shape {
        uint64_t pc;
        uint64_t frame;
        uint64_t depth;

        friend bool operator==(const shape&, const shape&) = default;
    };

    struct hash {
        std::size_t operator()(const shape& s) const noexcept {
            return static_cast<std::size_t>((s.pc * 31 + s.frame) * 0x9e3779b97f4a7c15ULL + s.depth);
        }
    };

    static shape shape_of(const seen_g& g) noexcept { return {g.pc, g.fp - g.sp, g.stack - g.sp}; }

    [[nodiscard]] static bool is_same(const chain& c, const std::byte* window) noexcept;
    void compare(std::span<const seen_g> gs, std::span<const std::size_t> which, std::vector<const chain*>& into);
    [[nodiscard]] const chain* find(const seen_g& g);
    [[nodiscard]] const chain* add(unwound found, uint64_t sp);
    [[nodiscard]] unwound follow_frame_pointers(const seen_g& g);

    target_memory& memory_;
    code& code_;
    green_threads& gs_;
    std::unordered_map<shape, std::vector<const chain*>, hash> candidates_;
    std::vector<std::unique_ptr<chain>> chains_;
    std::map<std::vector<uint64_t>, uint32_t> numbers_;  // by return addresses
    std::vector<std::byte> windows_;
    std::size_t unwound_count_ = 0;
};

}  // namespace weft::observe::detail
