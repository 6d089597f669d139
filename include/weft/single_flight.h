// single_flight.h: concurrent calls with the same key share one execution.
//
// do_(key, f) calls f and returns its result. If a call for an equal key is in progress, it waits
// for that one and returns the same result. Exceptions are shared too. Nothing is cached: after the
// call the next do_ calls again. Like Go's singleflight; prevents a stampede to the source behind a
// cache.
//
// Waiting is a cancellation point. The thread that calls f continues even if others stop waiting.
// If it is cancelled itself, one of the waiters calls its own f; timed_out is shared, because the
// usual source is a time limit inside f. It is fatal if f calls do_ for its
// own key, or if the object is destroyed during calls.
//
// Threads: any thread. See: docs/once.md
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include <weft/detail/owner.h>
#include <weft/detail/require.h>
#include <weft/detail/wait.h>
#include <weft/error.h>
#include <weft/mutex.h>

namespace weft {

namespace detail {

// A call that other threads may wait for.
class flight {
public:
    flight() noexcept : caller_(current_owner().who) {}

    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;

    // Blocks until land(). Throws if the caller is cancelled first. Fatal in the thread that makes
    // the call.
    void wait();

    // Everything before this call is visible after each wait(). Called once.
    void land() noexcept;

private:
    static constexpr uint32_t landed = 2;

    const void* const caller_;  // see detail::owner
    guarded_word state_;
    wait_queue waiters_;  // guarded by state_
};

// A single_flight is destroyed during calls: fatal, unless they may never end.
void check_flights_destroyed(std::size_t flights) noexcept;

}  // namespace detail

/// Value is copied to each caller, or void. Key, Hash and Equal as for std::unordered_map.
template <typename Key, typename Value, typename Hash = std::hash<Key>, typename Equal = std::equal_to<Key>>
class single_flight {
    static_assert(!std::is_reference_v<Value>, "weft::single_flight: Value must not be a reference; use a pointer");

public:
    single_flight() = default;
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;

    ~single_flight() {
        if (under_way_ != 0) detail::check_flights_destroyed(under_way_);
    }

    /// Any thread. Returns or throws what f() does, called by this thread or by another one for the
    /// same key. Throws std::bad_alloc before any call; weft::cancelled and weft::timed_out also
    /// while waiting.
    template <typename F>
    Value do_(const Key& key, F&& f) {
        for (;;) {
            const auto [call, is_ours] = join(key);
            if (is_ours) {
                run(key, *call, std::forward<F>(f));
            } else {
                call->wait();
            }
            if (call->error) std::rethrow_exception(call->error);
            if constexpr (std::is_void_v<Value>) {
                if (call->value) return;
            } else {
                if (call->value) return *call->value;
            }
            // The thread that made the call was cancelled.
        }
    }

    /// The next do_ for key calls, even if a call is in progress. That one continues for its
    /// waiters.
    void forget(const Key& key) {
        const std::lock_guard hold(mutex_);
        calls_.erase(key);
    }

private:
    struct call_state : detail::flight {
        // Written before land(), read after wait(). If neither is set, the call was cancelled.
        std::optional<std::conditional_t<std::is_void_v<Value>, std::monostate, Value>> value;
        std::exception_ptr error;
    };

    struct joined {
        std::shared_ptr<call_state> call;
        bool is_ours;
    };

    joined join(const Key& key) {
        const std::lock_guard hold(mutex_);
        if (const auto at = calls_.find(key); at != calls_.end()) return {at->second, false};
        auto fresh = std::make_shared<call_state>();
        calls_.emplace(key, fresh);
        ++under_way_;
        return {std::move(fresh), true};
    }

    template <typename F>
    void run(const Key& key, call_state& call, F&& f) {
        try {
            if constexpr (std::is_void_v<Value>) {
                std::forward<F>(f)();
                call.value.emplace();
            } else {
                call.value.emplace(std::forward<F>(f)());
            }
        } catch (const cancelled&) {
            end(key, call);
            throw;
        } catch (...) {
            call.error = std::current_exception();
        }
        end(key, call);
    }

    void end(const Key& key, call_state& call) noexcept {
        {
            const std::lock_guard hold(mutex_);
            const auto at = calls_.find(key);
            if (at != calls_.end() && at->second.get() == &call) calls_.erase(at);
            --under_way_;
        }
        call.land();
    }

    mutex mutex_;
    // Guarded by mutex_.
    std::unordered_map<Key, std::shared_ptr<call_state>, Hash, Equal> calls_;
    std::size_t under_way_ = 0;  // including forgotten ones
};

}  // namespace weft
