// picture.h: what the process holds while no operation runs, once in each period, and whether it
// grows.
//
// There are two kinds of figures. No green thread, no child, and no more descriptors than in the
// warm-up may be left: a single leak of one is found. Threads and memory vary by themselves:
// threads are kept for later use, and the heap has holes. For these, the medians of the second and
// the last quarter of all periods are compared.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/debug.h>

namespace weft::test {

struct picture {
    std::size_t fds = 0;
    std::size_t green_threads = 0;
    std::size_t children = 0;  // child processes that were started and still have an entry in the system
    std::size_t threads = 0;
    std::size_t heap_kib = 0;  // allocated and not freed
    std::size_t resident_kib = 0;
    std::size_t mappings = 0;

    [[nodiscard]] static picture now(const stats_snapshot& stats);

    // Whether none of the exactly counted figures exceeds that of most.
    [[nodiscard]] bool within(const picture& most) const noexcept {
        return fds <= most.fds && green_threads <= most.green_threads && children <= most.children;
    }
};

// Prints what each open descriptor is, to find the surplus one.
void print_descriptors();

class album {
public:
    // judges_memory: whether resident memory and mappings belong to this program, and not to a
    // sanitizer.
    album(std::size_t warm_up, bool judges_memory) : warm_up_(warm_up), judges_memory_(judges_memory) {}

    // The maxima of what is counted exactly. During the warm-up they are unlimited.
    [[nodiscard]] picture most() const;

    // Adds the picture of a period. A figure above its maximum is a complaint from then on.
    void add(const picture& p);

    // What has grown; empty if nothing has.
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
