// local.h: a variable of which each green thread has its own, as thread_local is for OS threads.
//
//     weft::local<std::string> user;                                // each green thread's begins empty
//     weft::local<prng> dice([] { return prng(fresh_seed()); });    // or with what the function returns
//
//     user.get() = "anna"; *user, user->size() …
//
// A local may have static or dynamic storage. A green thread's value is made when it first uses it and is destroyed when the
// green thread ends: after its function object, and before whoever joins it through wait_group::go or async goes on; in the reverse
// order of construction. A destructor may use locals, also of values that are gone already: those are made anew, and destroyed in
// the next round, of which there are four; what is made in the last one stays, and one line on stderr says so.
//
// Values stay where they are when the green thread goes on on another OS thread: pointers to them are good until it ends. Children
// start without values, unless they are started with spawn_options{.inherit_locals = true}: then with copies of those of the green
// thread that starts them, as far as their types can be copied.
//
// Rejected. A map from keys to values: a search at each use. A thread_local that is swapped at each switch: all pay for it, and
// compilers keep the addresses of thread-locals across calls.
//
// Who: green threads; the use by a plain thread is a fatal error (it has thread_local). Constructor and destructor: any thread.
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

// What the runtime has to know of a value's type.
struct local_type {
    void (*destroy)(local_node* n) noexcept;      // and free it
    void (*forget)(local_node* n) noexcept;       // free it only
    local_node* (*copy)(const local_node* from);  // may throw; nullptr: it cannot be copied
};

// One green thread's value of one local; the value itself comes behind. Owned by the green thread.
struct local_node {
    constexpr explicit local_node(const local_type& t) noexcept : type(&t) {}

    const local_type* type;
    local_node* older = nullptr;  // in the order of construction
    local_node* newer = nullptr;
    uint64_t serial = 0;  // of the local it belongs to
    uint32_t index = 0;
    uint32_t round = 0;  // 0: made before the green thread ended; n: by a destructor of round n - 1
};

// The identity of a local: an index, the smallest that is free, and a serial number that is never used again: an index that
// was used before leads to values of others, which are told by their number.
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

// The caller's value of k; nullptr if it has none. Fatal in a plain thread. O(1).
[[nodiscard]] local_node* local_find(const local_key& k) noexcept;

// What the caller does to get one: announces that it is being made (throws std::bad_alloc; fatal if it is already), and then either
// gives it or takes the announcement back.
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
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>);
    static_assert(std::is_nothrow_destructible_v<T>, "a local's value is destroyed where nobody can catch");

public:
    using value_type = T;

    // Values begin as T().
    local()
        requires std::is_default_constructible_v<T>
    = default;

    // Values begin as copies of initial.
    explicit local(T initial)
        requires std::copy_constructible<T>
        : source_(std::make_unique<copies>(std::move(initial))) {}

    // Values begin as what factory() returns. It is called by each green thread that uses the local, possibly by several at once;
    // it may block. What it throws leaves get(); the next use calls it again. Fatal if it uses the local it makes a value of.
    template <typename F>
        requires detail::local_factory<F, T>
    explicit local(F factory) : source_(std::make_unique<calls<F>>(std::move(factory))) {}

    local(const local&) = delete;
    local& operator=(const local&) = delete;

    // The caller's value is destroyed with it; those of other green threads when they end. Nobody may use it meanwhile.
    ~local() { detail::local_drop(key_); }

    // The caller's value. Made now, if it has none: may throw what constructing it does, or std::bad_alloc. The reference is good until
    // the green thread ends, or reset(). Else O(1): some twenty-five instructions.
    [[nodiscard]] T& get() const {
        detail::local_node* n = detail::local_find(key_);
        if (n == nullptr) [[unlikely]]
            n = make();
        return static_cast<node*>(n)->value;
    }

    T& operator*() const { return get(); }

    T* operator->() const { return std::addressof(get()); }

    // Whether the caller has a value.
    [[nodiscard]] bool has_value() const noexcept { return detail::local_find(key_) != nullptr; }

    // Destroys the caller's value, if it has one; the next use makes a new one.
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

    // Where values come from, if not from T().
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
