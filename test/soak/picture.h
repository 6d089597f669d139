// picture.h: what the process holds while nothing is under way, once a period; and whether it holds more and more.
//
// Two kinds of figures. No green thread may be left, no child, and no descriptor more than in the warm-up: whoever leaks one of them once
// is found out. Threads and memory have their own weather: threads are kept for later, the heap has holes. There the medians of the
// second and the last quarter of all periods are compared.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/debug.h>

namespace weft::test {

struct picture {
    std::size_t fds = 0;
    std::size_t green_threads = 0;
    std::size_t children = 0;  // programs started and not yet forgotten by the system
    std::size_t threads = 0;
    std::size_t heap_kib = 0;  // allocated and not freed
    std::size_t resident_kib = 0;
    std::size_t mappings = 0;

    [[nodiscard]] static picture now(const stats_snapshot& stats);

    // Not more of what is counted exactly than in the other one.
    [[nodiscard]] bool within(const picture& most) const noexcept {
        return fds <= most.fds && green_threads <= most.green_threads && children <= most.children;
    }
};

// What each open descriptor is, for who asks which one is too many.
void print_descriptors();

class album {
public:
    // judges_memory: whether resident memory and mappings are this program's own (not a sanitizer's).
    album(std::size_t warm_up, bool judges_memory) : warm_up_(warm_up), judges_memory_(judges_memory) {}

    // What may be there at most, of what is counted exactly: during the warm-up, anything.
    [[nodiscard]] picture most() const;

    // Adds the picture of a period. What it shows too much of is a complaint from then on.
    void add(const picture& p);

    // What has grown. Empty: nothing.
    [[nodiscard]] std::vector<std::string> complaints() const;

private:
    [[nodiscard]] std::size_t median(std::size_t picture::* figure, std::size_t from, std::size_t to) const;
    void compare(std::vector<std::string>& said,
                 const char* name,
                 std::size_t picture::* figure,
                 std::size_t allowance) const;

    const std::size_t warm_up_;
    const bool judges_memory_;
    picture most_;
    std::vector<picture> all_;
    std::vector<std::string> found_;
};

}  // namespace weft::test
