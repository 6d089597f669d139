// hook_counter.h: counts unobserved exceptions.
#pragma once

#include <atomic>
#include <exception>
#include <stdexcept>

#include <weft/future.h>

namespace weft::test {

// While one exists, counts calls of the hook for unobserved exceptions. One at a time.
class hook_counter {
public:
    hook_counter() : previous_(set_unobserved_exception_hook(&count)) {
        errors_ = 0;
        others_ = 0;
    }

    ~hook_counter() { set_unobserved_exception_hook(previous_); }

    hook_counter(const hook_counter&) = delete;
    hook_counter& operator=(const hook_counter&) = delete;

    // std::runtime_errors, and all others.
    [[nodiscard]] static int errors() { return errors_; }

    [[nodiscard]] static int others() { return others_; }

private:
    static void count(const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error&) {
            ++errors_;
        } catch (...) {
            ++others_;
        }
    }

    static inline std::atomic<int> errors_{0};
    static inline std::atomic<int> others_{0};
    const unobserved_exception_hook previous_;
};

}  // namespace weft::test
