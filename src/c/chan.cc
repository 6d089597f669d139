// chan.cc: see c/chan.h.
#include "c/chan.h"

#include <cstdint>
#include <new>

#include "c/status.h"

using namespace weft::detail;

run_chan* run_chan::create(std::size_t elem_size, std::size_t cap) noexcept {
    constexpr std::size_t most = PTRDIFF_MAX - sizeof(run_chan);
    if (elem_size != 0 && cap > most / elem_size) return nullptr;
    void* block = ::operator new(sizeof(run_chan) + cap * elem_size, std::nothrow);
    return block == nullptr ? nullptr : ::new (block) run_chan(elem_size, cap);
}

void run_chan::drop() noexcept {
    if (handles.fetch_sub(1, acq_rel) != 1) return;  // R1, A1: as chan_state::drop
    lock.lock();
    const bool waited_on = !receivers.empty() || !senders.empty();
    lock.unlock();
    if (waited_on) [[unlikely]] {
        chan_destroyed_while_waited_on();
        return;  // the waiters point here: leaked
    }
    this->~run_chan();
    ::operator delete(static_cast<void*>(this));
}

run_status_t run_chan::send(const void* value, int64_t deadline_ns) noexcept {
    lock.lock();
    if (closed) {
        lock.unlock();
        return RUN_CLOSED;
    }
    if (!receivers.empty()) {
        if (waiter* w = receivers.pop_claimed()) {
            lock.unlock();
            finish_send(value, *w);
            return RUN_OK;
        }
    }
    if (count < capacity) {
        put_tail(value);
        lock.unlock();
        return RUN_OK;
    }
    return block(senders, const_cast<void*>(value), wait_reason::chan_send, deadline_ns);  // NOLINT: only read
}

run_status_t run_chan::recv(void* value, int64_t deadline_ns) noexcept {
    lock.lock();
    if (count > 0) {
        take_head(value);
        waiter* w = senders.empty() ? nullptr : senders.pop_claimed();
        if (w == nullptr) {
            --count;
            lock.unlock();
            return RUN_OK;
        }
        refill(*w);
        lock.unlock();
        ready(*w);
        return RUN_OK;
    }
    if (!senders.empty()) {
        if (waiter* w = senders.pop_claimed()) {
            lock.unlock();
            finish_recv(value, *w);
            return RUN_OK;
        }
    }
    if (closed) {
        lock.unlock();
        return RUN_CLOSED;
    }
    return block(receivers, value, wait_reason::chan_receive, deadline_ns);
}

run_status_t run_chan::close() noexcept {
    lock.lock();
    if (closed) {
        lock.unlock();
        return RUN_CLOSED;
    }
    closed = true;
    waiter* waiting_receivers = receivers.pop_all_claimed();
    waiter* waiting_senders = senders.pop_all_claimed();
    lock.unlock();
    // ok stays false: closed.
    ready_all(waiting_receivers);
    ready_all(waiting_senders);
    return RUN_OK;
}

bool run_chan::begin_send(const void* value, waiter*& partner, bool& ok) noexcept {
    ok = !closed;
    if (closed) return true;
    partner = receivers.pop_claimed();
    if (partner != nullptr) return true;
    if (count == capacity) return false;
    put_tail(value);
    return true;
}

void run_chan::finish_send(const void* value, waiter& partner) const noexcept {
    copy(partner.slot, value);
    partner.ok = true;
    ready(partner);
}

bool run_chan::begin_recv(void* value, waiter*& partner, bool& ok) noexcept {
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
        refill(*partner);
    }
    return true;
}

void run_chan::finish_recv(void* value, waiter& partner) const noexcept {
    if (!partner.ok) {  // else its element is already in the buffer
        copy(value, partner.slot);
        partner.ok = true;
    }
    ready(partner);
}

// Moves a waiting sender's element into the slot of the taken head, which is now the end. Requires
// the lock.
void run_chan::refill(waiter& sender) noexcept {
    copy(slot(wrap(head + count - 1)), sender.slot);
    sender.ok = true;
}

// Requires the lock and releases it.
run_status_t run_chan::block(wait_queue& queue, void* value, wait_reason reason, int64_t deadline_ns) noexcept {
    if (deadline_ns == 0) {
        lock.unlock();
        return RUN_WOULD_BLOCK;
    }
    waiter me;
    me.slot = value;
    const wait_result result =
        wait_cancellable(lock, {.me = me, .queue = queue, .bits = 0, .reason = reason, .deadline_ns = deadline_ns});
    if (result == wait_result::served) [[likely]]
        return me.ok ? RUN_OK : RUN_CLOSED;
    return status_of(result, deadline_ns);
}

namespace weft::detail {

namespace {

run_chan& chan_of(const select_case& c) noexcept { return *static_cast<run_chan*>(c.object); }

void prepare_case(
    select_case& c, run_chan* chan, wait_queue run_chan::* queue, void* value, const select_ops& ops) noexcept {
    c.object = chan;
    if (chan == nullptr) return;
    c.ops = &ops;
    c.lock = &chan->lock;
    c.queue = &(chan->*queue);
    c.w.slot = value;
}

}  // namespace

const select_ops byte_recv_case::ops{
    [](const select_case& c) noexcept { return chan_of(c).may_recv(); },
    [](select_case& c, uint32_t /*bits*/) noexcept {
        bool ok = false;
        const bool done = chan_of(c).begin_recv(c.w.slot, c.partner, ok);
        c.w.ok = ok;
        return done;
    },
    [](select_case& c) noexcept { chan_of(c).finish_recv(c.w.slot, *c.partner); },
    0,
};

void byte_recv_case::prepare(select_case& c, run_chan* from, void* value) noexcept {
    prepare_case(c, from, &run_chan::receivers, value, ops);
}

const select_ops byte_send_case::ops{
    [](const select_case& c) noexcept { return chan_of(c).may_send(); },
    [](select_case& c, uint32_t /*bits*/) noexcept {
        bool ok = false;
        const bool done = chan_of(c).begin_send(c.w.slot, c.partner, ok);
        c.w.ok = ok;
        return done;
    },
    [](select_case& c) noexcept { chan_of(c).finish_send(c.w.slot, *c.partner); },
    0,
};

void byte_send_case::prepare(select_case& c, run_chan* to, const void* value) noexcept {
    prepare_case(c, to, &run_chan::senders, const_cast<void*>(value), ops);  // NOLINT: only read
}

}  // namespace weft::detail

// ---- The interface.

namespace {

// A send needs a value unless the element size is 0.
bool has_value(const run_chan* chan, const void* value) noexcept { return value != nullptr || chan->elem_size == 0; }

run_status_t send_by(run_chan* chan, const void* value, int64_t deadline_ns) noexcept {
    if (chan == nullptr || !has_value(chan, value)) return RUN_INVALID;
    return chan->send(value, deadline_ns);
}

run_status_t recv_by(run_chan* chan, void* value, int64_t deadline_ns) noexcept {
    return chan == nullptr ? RUN_INVALID : chan->recv(value, deadline_ns);
}

}  // namespace

run_status_t run_chan_make(run_chan_t** chan, size_t elem_size, size_t capacity) noexcept {
    if (chan == nullptr) return RUN_INVALID;
    *chan = run_chan::create(elem_size, capacity);
    return *chan == nullptr ? RUN_EXHAUSTED : RUN_OK;
}

run_chan_t* run_chan_retain(run_chan_t* chan) noexcept {
    if (chan != nullptr) chan->retain();
    return chan;
}

void run_chan_release(run_chan_t* chan) noexcept {
    if (chan != nullptr) chan->drop();
}

run_status_t run_chan_send(run_chan_t* chan, const void* value) noexcept { return send_by(chan, value, never); }

run_status_t run_chan_try_send(run_chan_t* chan, const void* value) noexcept { return send_by(chan, value, 0); }

run_status_t run_chan_send_for(run_chan_t* chan, const void* value, int64_t timeout_ns) noexcept {
    return send_by(chan, value, deadline_of(timeout_ns));
}

run_status_t run_chan_recv(run_chan_t* chan, void* value) noexcept { return recv_by(chan, value, never); }

run_status_t run_chan_try_recv(run_chan_t* chan, void* value) noexcept { return recv_by(chan, value, 0); }

run_status_t run_chan_recv_for(run_chan_t* chan, void* value, int64_t timeout_ns) noexcept {
    return recv_by(chan, value, deadline_of(timeout_ns));
}

run_status_t run_chan_close(run_chan_t* chan) noexcept { return chan == nullptr ? RUN_INVALID : chan->close(); }

bool run_chan_closed(run_chan_t* chan) noexcept { return chan != nullptr && chan->is_closed(); }

size_t run_chan_len(run_chan_t* chan) noexcept { return chan == nullptr ? 0 : chan->len(); }

size_t run_chan_cap(const run_chan_t* chan) noexcept { return chan == nullptr ? 0 : chan->capacity; }

size_t run_chan_elem_size(const run_chan_t* chan) noexcept { return chan == nullptr ? 0 : chan->elem_size; }
