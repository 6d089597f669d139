// local.h: a variable of which each green thread has its own value, like thread_local for OS
// threads.
//
//     weft::local<std::string> user;                                // each green thread's value starts empty
//     weft::local<prng> dice([] { return prng(fresh_seed()); });    // or with the function's result
//
//     user.get() = "anna"; *user, user->size() …
//
// A local may have static or dynamic storage. A green thread's value is made at its first use. It
// is destroyed when the green thread ends: after its function object, before a joiner
// (wait_group::go, async) continues, in reverse order of construction. A destructor may use locals.
// Those already destroyed are made again, and destroyed in the next of four rounds; what the last
// one makes stays, and one line on stderr says so.
//
// Values keep their address when the green thread migrates; pointers to them are valid until it
// ends. Children start without values, or, with spawn_options{.inherit_locals = true}, with copies
// of the starter's copyable values.
//
// Rejected. A map from keys to values: a search at each use. A thread_local swapped at each switch:
// every switch pays, and compilers keep addresses of thread-locals across calls.
//
// Threads: green threads; use by a plain thread is fatal (it has thread_local). Constructor and
// destructor: any thread.
// See: docs/local.md
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/detail/locals.h>
#include <weft/detail/require.h>

namespace weft {

namespace detail {

struct local_node;

// What the runtime needs to know about a value's type.
struct local_type {
    void (*destroy)(local_node* n) noexcept;      // and frees it
    void (*forget)(local_node* n) noexcept;       // only frees it
    local_node* (*copy)(const local_node* from);  // may throw; nullptr: not copyable
};

// One green thread's value of one local; the value follows it in memory. Owned by the green thread.
struct local_node {
    constexpr explicit local_node(const local_type& t) noexcept : type(&t) {}

    const local_type* type;
    local_node* older = nullptr;  // in order of construction
    local_node* newer = nullptr;
    uint64_t serial = 0;  // of its local
    uint32_t index = 0;
    uint32_t round = 0;  // 0: made before the green thread ended; n: by a destructor of round n - 1
};

// The identity of a local: the smallest free index, and a serial number that is never reused. A
// reused index may lead to another local's values; the serial number tells them apart.
class local_key {
public:
    local_key() noexcept;
    ~local_key();
    local_key(const local_key&) = delete;
    local_key& operator=(const local_key&) = delete;

private:
    friend struct local_table;

    uint32_t index_;
    uint64_t serial_;
    local_key* next_;  // guarded by the lock of the list of all keys, which is sorted by index
};

// Returns the caller's value of k; nullptr if it has none. Fatal in a plain thread. O(1).
[[nodiscard]] local_node* local_find(const local_key& k) noexcept;

// Making a value: local_announce first (throws std::bad_alloc; fatal if already announced), then
// either local_give or local_give_up.
void local_announce(const local_key& k);
void local_give(const local_key& k, local_node* made) noexcept;
void local_give_up(const local_key& k) noexcept;

// Destroys the caller's value of k, if it is a green thread and has one.
void local_drop(const local_key& k) noexcept;

// A function that makes the first value of a T.
template <typename F, typename T>
concept local_factory = std::is_invocable_v<const F&> && !std::is_same_v<std::remove_cvref_t<F>, T> &&
                        (std::is_same_v<std::invoke_result_t<const F&>, T> || std::is_invocable_r_v<T, const F&>);

}  // namespace detail

template <typename T>
class local {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                  "weft::local<T>: T must be an object type, neither an array nor const");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "weft::local<T>: the destructor of T must be noexcept, because no caller could catch its exception");

public:
    using value_type = T;

    /// Initial value: T().
    local()
        requires std::is_default_constructible_v<T>
    = default;

    /// Initial value: a copy of initial.
    explicit local(T initial)
        requires std::copy_constructible<T>
        : source_(std::make_unique<copies>(std::move(initial))) {}

    /// Initial value: the result of factory(). Each green thread that uses the local calls it,
    /// possibly several at once; it may block. Its exceptions leave get(); the next use calls it
    /// again. Fatal if it uses the local it makes a value of.
    template <typename F>
        requires detail::local_factory<F, T>
    explicit local(F factory) : source_(std::make_unique<calls<F>>(std::move(factory))) {}

    local(const local&) = delete;
    local& operator=(const local&) = delete;

    /// Destroys the caller's value; those of other green threads are destroyed when they end. No
    /// thread may use the local during this.
    ~local() { detail::local_drop(key_); }

    /// Returns the caller's value, making it if necessary: may throw what its construction throws,
    /// or std::bad_alloc. The reference is valid until the green thread ends, or reset(). Otherwise
    /// O(1): about 25 instructions.
    [[nodiscard]] T& get() const {
        detail::local_node* n = detail::local_find(key_);
        if (n == nullptr) [[unlikely]]
            n = make();
        return static_cast<node*>(n)->value;
    }

    T& operator*() const { return get(); }

    T* operator->() const { return std::addressof(get()); }

    /// Returns whether the caller has a value.
    [[nodiscard]] bool has_value() const noexcept { return detail::local_find(key_) != nullptr; }

    /// Destroys the caller's value, if any; the next use makes a new one.
    void reset() const noexcept {
        if (detail::local_find(key_) != nullptr) detail::local_drop(key_);
    }

private:
    struct node : detail::local_node {
        node() : local_node(type_of_node), value() {}

        explicit node(const T& from) : local_node(type_of_node), value(from) {}

        template <typename F>
        node(std::in_place_t /*call it*/, const F& factory) : local_node(type_of_node), value(factory()) {}

        T value;
    };

    static void destroy_node(detail::local_node* n) noexcept { delete static_cast<node*>(n); }

    static void forget_node(detail::local_node* n) noexcept {
        std::allocator<node>().deallocate(static_cast<node*>(n), 1);
    }

    static constexpr auto copier() noexcept -> detail::local_node* (*)(const detail::local_node*) {
        if constexpr (std::copy_constructible<T>) {
            return [](const detail::local_node* from) -> detail::local_node* {
                return new node(static_cast<const node*>(from)->value);
            };
        } else {
            return nullptr;
        }
    }

    [[gnu::visibility("hidden")]] static constexpr detail::local_type type_of_node = {&destroy_node, &forget_node,
                                                                                      copier()};

    // Makes initial values, if not T().
    struct source {
        source() = default;
        source(const source&) = delete;
        source& operator=(const source&) = delete;
        virtual ~source() = default;
        [[nodiscard]] virtual node* make() const = 0;
    };

    struct copies final : source {
        explicit copies(T&& from) : initial(std::move(from)) {}

        node* make() const override { return new node(initial); }

        const T initial;
    };

    template <typename F>
    struct calls final : source {
        explicit calls(F&& from) : factory(std::move(from)) {}

        node* make() const override { return new node(std::in_place, factory); }

        const F factory;
    };

    [[gnu::noinline]] detail::local_node* make() const {
        detail::local_announce(key_);
        node* made = nullptr;
        try {
            made = make_node();
        } catch (...) {
            detail::local_give_up(key_);
            throw;
        }
        detail::local_give(key_, made);
        return made;
    }

    node* make_node() const {
        if constexpr (std::is_default_constructible_v<T>) {
            if (source_ == nullptr) return new node();
        }
        return source_->make();
    }

    detail::local_key key_;
    std::unique_ptr<const source> source_;  // nullptr: T()
};

}  // namespace weft
