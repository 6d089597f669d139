// chan_state.h: the state shared by all handles of a channel: lock, buffer, queues of waiters.
//
// One lock guards everything and is held for a dozen instructions. A send looks for a waiting
// receiver, then for room in the buffer, then parks; a receive mirrors that. A waiting partner is
// claimed under the lock, and the value moves directly between the two frames after the lock is
// released.
//
// For the invariants and the order of values, see chan.h.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/allocate.h>
#include <weft/detail/atomic.h>
#include <weft/detail/hold.h>
#include <weft/detail/require.h>
#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>
#include <weft/error.h>

namespace weft::detail {

// The part that does not depend on T.
struct chan_core {
    explicit chan_core(std::size_t cap) noexcept : capacity(cap) {}

    chan_core(const chan_core&) = delete;
    chan_core& operator=(const chan_core&) = delete;

    [[nodiscard]] bool is_closed() noexcept {
        const hold_if<false> held;
        lock.lock();
        const bool yes = closed;
        lock.unlock();
        return yes;
    }

    // The number of buffered values. A timer's channel reports 0: what it holds is withdrawn when
    // the timer is stopped.
    [[nodiscard]] std::size_t len() noexcept {
        if (last_drop != nullptr) return 0;
        const hold_if<false> held;
        lock.lock();
        const std::size_t n = count;
        lock.unlock();
        return n;
    }

    [[nodiscard]] std::size_t cap() const noexcept { return last_drop != nullptr ? 0 : capacity; }

    // Whether a receive, or a send, would find something to do. Reads without the lock: a hint. If
    // false, nothing could be done at the instant when count was read (without a buffer: the
    // queue). The channel was not closed then, because it is not closed later.
    [[nodiscard]] bool may_recv() const noexcept {
        return count.peek() != 0 || !senders.seems_empty() || closed.peek();
    }

    [[nodiscard]] bool may_send() const noexcept {
        return count.peek() < capacity || !receivers.seems_empty() || closed.peek();
    }

    // Guarded by lock.
    spin_lock lock;
    peekable<bool> closed = false;
    peekable<std::size_t> count = 0;  // buffered values
    guarded<std::size_t> head = 0;    // index of the oldest
    wait_queue receivers;
    wait_queue senders;

    // Immutable.
    const std::size_t capacity;
    void (*last_drop)(chan_core& core) noexcept =
        nullptr;  // set by a timer: called instead of freeing when the last handle is gone

    // Atomic: the number of handles that refer to this channel.
    atomic<uint32_t> handles{1};
};

// Closes core and wakes all waiters. Fatal if core is nullptr or already closed.
void chan_close(chan_core* core);

// An operation on a nil channel. Returns would_block at once if deadline_ns is 0, else timed_out at
// the deadline; without one it blocks for ever. If the wait is cancelled, throws, or, if
// interrupted is given, stores the reason there and returns timed_out.
chan_status nil_wait(wait_reason reason, int64_t deadline_ns, wait_result* interrupted);

// Handles a wait that the channel did not end: returns timed_out, or acts as nil_wait.
chan_status chan_interrupted(wait_result result, wait_result* interrupted);

// The last handle is gone while a waiter holds a reference to it. Fatal, unless that waiter may be
// one that never runs again.
void chan_destroyed_while_waited_on() noexcept;

// Throws std::bad_alloc: the requested channel has more slots than memory can hold.
[[noreturn]] void throw_chan_too_large();

template <typename T>
struct chan_state : chan_core {
    // Guards an operation that moves values under the lock, or after it has claimed their receiver.
    using calls_users = hold_if<!std::is_trivially_copyable_v<T>>;

    // Allocates state and slots in one block. Throws std::bad_alloc.
    static chan_state* create(std::size_t cap) {
        if (cap > ((std::numeric_limits<std::size_t>::max)() / 2 - sizeof(chan_state)) / sizeof(T))
            throw_chan_too_large();
        return create_at(allocate(block_size(cap), block_align()), cap);
    }

    // Constructs state and slots at block, which is part of an object that sets last_drop.
    static chan_state* create_at(void* block, std::size_t cap) noexcept { return ::new (block) chan_state(cap); }

    static constexpr std::size_t block_size(std::size_t cap) noexcept { return slots_offset() + cap * sizeof(T); }

    static constexpr std::size_t block_align() noexcept {
        return alignof(T) > alignof(chan_core) ? alignof(T) : alignof(chan_core);
    }

    void retain() noexcept { handles.fetch_add(1, relaxed); }  // relaxed: the caller holds a handle

    void drop() noexcept {
        if (handles.fetch_sub(1, acq_rel) != 1) return;  // R1, A1: the lock below orders uses too, but cap() has none
        bool waited_on = false;
        {
            const hold_if<false> held;
            lock.lock();  // a waiter that holds a reference may not have synchronised with us
            waited_on = !receivers.empty() || !senders.empty();
            lock.unlock();
        }
        if (waited_on) [[unlikely]] {
            chan_destroyed_while_waited_on();
            return;  // the waiters point here: leaked
        }
        if (last_drop != nullptr) [[unlikely]] {
            last_drop(*this);
            return;
        }
        clear_locked();
        this->~chan_state();
        deallocate(this, block_align());
    }

    // Destroys the buffered values and returns their number. Requires: the lock is held, or no
    // other thread uses the channel.
    std::size_t clear_locked() noexcept {
        const std::size_t cleared = count;
        for (; count != 0; --count) {
            slot(head)->~T();
            head = next(head);
        }
        return cleared;
    }

    // Sends value. deadline_ns 0: does not wait. Moves from value only if the result is ok. If the
    // wait is cancelled, throws, or, if interrupted is not nullptr, stores the reason there and
    // returns timed_out.
    [[gnu::always_inline]] chan_status send(T& value, int64_t deadline_ns, wait_result* interrupted = nullptr) {
        const calls_users held;
        lock.lock();
        if (closed) {
            lock.unlock();
            return chan_status::closed;
        }
        if (!receivers.empty()) {
            if (waiter* w = receivers.pop_claimed()) {
                lock.unlock();
                static_cast<std::optional<T>*>(w->slot)->emplace(std::move(value));
                w->ok = true;
                ready(*w);
                return chan_status::ok;
            }
        }
        if (count < capacity) {
            ::new (slot(wrap(head + count))) T(std::move(value));
            ++count;
            lock.unlock();
            return chan_status::ok;
        }
        return block(senders, &value, wait_reason::chan_send, deadline_ns, interrupted);
    }

    // Receives into value. deadline_ns 0: does not wait. Fills value only if the result is ok.
    // interrupted: as for send.
    [[gnu::always_inline]] chan_status recv(std::optional<T>& value,
                                            int64_t deadline_ns,
                                            wait_result* interrupted = nullptr) {
        const calls_users held;
        lock.lock();
        if (count > 0) {
            take_head(value);
            if (senders.empty()) {
                --count;
                lock.unlock();
                return chan_status::ok;
            }
            return refill();
        }
        if (!senders.empty()) {
            if (waiter* w = senders.pop_claimed()) {
                lock.unlock();
                value.emplace(std::move(*static_cast<T*>(w->slot)));
                w->ok = true;
                ready(*w);
                return chan_status::ok;
            }
        }
        if (closed) {
            lock.unlock();
            return chan_status::closed;
        }
        return block(receivers, &value, wait_reason::chan_receive, deadline_ns, interrupted);
    }

    // The two halves of a select's operation.
    //
    // begin is called under the lock and returns true if no wait is needed; ok tells whether a
    // value moves (else: closed). finish is called after the lock is released, if begin has won a
    // partner's wait.
    bool begin_send(T& value, waiter*& partner, bool& ok) noexcept {
        const calls_users held;
        ok = !closed;
        if (closed) return true;
        partner = receivers.pop_claimed();
        if (partner != nullptr) return true;
        if (count == capacity) return false;
        ::new (slot(wrap(head + count))) T(std::move(value));
        ++count;
        return true;
    }

    static void finish_send(T& value, waiter& partner) noexcept {
        const calls_users held;
        static_cast<std::optional<T>*>(partner.slot)->emplace(std::move(value));
        partner.ok = true;
        ready(partner);
    }

    bool begin_recv(std::optional<T>& value, waiter*& partner, bool& ok) noexcept {
        const calls_users held;
        ok = true;
        if (count == 0) {
            partner = senders.pop_claimed();
            ok = partner != nullptr;
            return ok || closed;
        }
        take_head(value);
        partner = senders.pop_claimed();
        if (partner == nullptr) {
            --count;
        } else {
            fill_freed_slot(*partner);
        }
        return true;
    }

    static void finish_recv(std::optional<T>& value, waiter& partner) noexcept {
        const calls_users held;
        if (!partner.ok) {  // else its value is already in the buffer
            value.emplace(std::move(*static_cast<T*>(partner.slot)));
            partner.ok = true;
        }
        ready(partner);
    }

private:
    explicit chan_state(std::size_t cap) noexcept : chan_core(cap) {}

    static constexpr std::size_t slots_offset() noexcept {
        return (sizeof(chan_state) + alignof(T) - 1) / alignof(T) * alignof(T);
    }

    T* slot(std::size_t index) noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this) + slots_offset()) + index;
    }

    std::size_t wrap(std::size_t index) const noexcept { return index >= capacity ? index - capacity : index; }

    std::size_t next(std::size_t index) const noexcept { return index + 1 == capacity ? 0 : index + 1; }

    // The head was taken while senders wait: appends the value of the oldest one (I2). Requires:
    // the lock is held. Releases it.
    chan_status refill() noexcept WEFT_RELEASE(lock) {
        waiter* w = senders.pop_claimed();
        if (w == nullptr) {
            --count;
            lock.unlock();
            return chan_status::ok;
        }
        fill_freed_slot(*w);
        lock.unlock();
        ready(*w);
        return chan_status::ok;
    }

    void take_head(std::optional<T>& value) noexcept {
        T* oldest = slot(head);
        value.emplace(std::move(*oldest));
        oldest->~T();
        head = next(head);
    }

    // Moves the value of a waiting sender into the slot that the head has left.
    void fill_freed_slot(waiter& sender) noexcept {
        ::new (slot(wrap(head + count - 1))) T(std::move(*static_cast<T*>(sender.slot)));
        sender.ok = true;
    }

    // The operation cannot complete at once: waits in queue until deadline_ns. Requires: the lock
    // is held. Releases it.
    chan_status block(wait_queue& queue,
                      void* slot_of_caller,
                      wait_reason reason,
                      int64_t deadline_ns,
                      wait_result* interrupted) WEFT_RELEASE(lock) {
        if (deadline_ns == 0) {
            lock.unlock();
            return chan_status::would_block;
        }
        waiter me;
        me.slot = slot_of_caller;
        const wait_result result =
            wait_cancellable(lock, {.me = me, .queue = queue, .bits = 0, .reason = reason, .deadline_ns = deadline_ns});
        if (result == wait_result::served) [[likely]]
            return me.ok ? chan_status::ok : chan_status::closed;
        return chan_interrupted(result, interrupted);
    }
};

}  // namespace weft::detail
