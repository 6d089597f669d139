// symbolizer.h: asks the process of symbol_service.h what lies at addresses.
//
// Allocates nothing and takes no lock. Any thread, also in the handler of a fault; one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/symbol_process.h"
#include "os/symbols.h"
#include "symbols/symbol.h"

namespace weft::detail {

// One per report. The process starts with the first question, and ends with the object.
class symbolizer {
public:
    // The time for all answers together, including the start of the process. After it there are
    // none.
    static constexpr int64_t limit_ns = 5'000'000'000;

    symbolizer() noexcept = default;
    ~symbolizer();
    symbolizer(const symbolizer&) = delete;
    symbolizer& operator=(const symbolizer&) = delete;

    // Calls each for the frames at a place, innermost first. Returns their number: 0 if nothing is
    // known of it. meanwhile, which may be nullptr, is called at least every pause_ns; if it
    // returns false, there are no more answers.
    template <typename Each>
    int ask(const os::code_place& place, bool (*meanwhile)(void*), void* closure, Each&& each) noexcept {
        if (!send(place)) return 0;
        int count = 0;
        for (symbol s; receive(s, meanwhile, closure); ++count) each(s);
        return count;
    }

    static constexpr int64_t pause_ns = 1'000'000;

    // Ends the process; there are no more answers.
    void stop() noexcept;

    // Switches all of it off, for RUN_DEBUG=symbols=0.
    static void disable() noexcept;

private:
    enum class state : uint8_t { none, running, failed };

    void start() noexcept;
    [[nodiscard]] bool send(const os::code_place& place) noexcept;

    // Returns false at the end of an answer, and on a failure.
    [[nodiscard]] bool receive(symbol& s, bool (*meanwhile)(void*), void* closure) noexcept;
    [[nodiscard]] char* next_line(bool (*meanwhile)(void*), void* closure) noexcept;

    state state_ = state::none;
    os::symbol_process process_;
    int64_t left_ns_ = limit_ns;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    char buffer_[1024];  // symbol_service::longest_line
};

}  // namespace weft::detail
