// single_flight.h: one call for all who want the same at the same time.
//
// do_(key, f) calls f and returns what it returns, unless a call for an equal key is under way: then it waits for that one, and
// returns the same. An exception is shared like a result. Nothing is kept: when the call is over, the next do_ calls again. As Go's
// singleflight, against a stampede to a cache's source.
//
// Waiting is a cancellation point. Whoever calls f goes on though others stop waiting; if it is cancelled itself, one of those who
// wait calls its own f instead. A do_ by f for its own key is a fatal error, and so is destroying one while calls are under way.
//
// Who: any thread. See: docs/once.md
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

// A call that others may wait for.
class flight {
public:
    flight() noexcept : caller_(current_owner().who) {}

    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;

    // Blocks until land(). Throws if the caller is cancelled first. Fatal if it is the one that calls.
    void wait();

    // Everything that follows a wait() has seen what came before this. Once.
    void land() noexcept;

private:
    static constexpr uint32_t landed = 2;

    const void* const caller_;  // see detail::owner
    guarded_word state_;
    wait_queue waiters_;  // guarded by state_
};

// A single_flight is destroyed while calls are under way. Fatal, unless they may never end.
void check_flights_destroyed(std::size_t flights) noexcept;

}  // namespace detail

// Value is copied to each caller, or void. Key, Hash and Equal as for std::unordered_map.
template <typename Key, typename Value, typename Hash = std::hash<Key>, typename Equal = std::equal_to<Key>>
class single_flight {
    static_assert(!std::is_reference_v<Value>, "return a pointer");

public:
    single_flight() = default;
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;

    ~single_flight() {
        if (under_way_ != 0) detail::check_flights_destroyed(under_way_);
    }

    // Any thread. What f() returns or throws, called by us or by somebody else for the same key. Throws std::bad_alloc, before
    // anything is called; weft::cancelled and weft::timed_out also while waiting.
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
            // Whoever called was cancelled.
        }
    }

    // The next do_ for key calls, though a call for it may be under way. That one goes on, for those who wait for it.
    void forget(const Key& key) {
        const std::lock_guard hold(mutex_);
        calls_.erase(key);
    }

private:
    struct call_state : detail::flight {
        // Written before land(), read after wait(). Neither: the call was cancelled.
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
    std::size_t under_way_ = 0;  // forgotten ones, too
};

}  // namespace weft
