// operation.h: one asynchronous operation of gRPC that a green thread waits for.
//
//   1. The green thread calls begin() and starts the operation, which uses its message.
//   2. A thread of gRPC calls complete(), which sets an event and never waits. gRPC may also run
//      the callback on the green thread itself, before the call that starts the operation returns.
//   3. The green thread returns from wait(). If it is interrupted, it cancels the call, and waits
//      until gRPC has released the message. A cancelled call completes its operations soon.
//
// Threads: one green thread at a time between begin() and the end of wait().
#pragma once

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>

#include <weft/cancel.h>
#include <weft/detail/require.h>
#include <weft/event.h>

namespace weft::grpc::detail {

// Waits for e. If the caller is interrupted, calls cancel, waits all the same, and then throws.
template <typename Cancel>
void wait_or_cancel(weft::event& e, Cancel cancel) {
    std::exception_ptr interruption;
    try {
        e.wait();
    } catch (...) {
        interruption = std::current_exception();
    }
    if (!interruption) return;
    cancel();
    weft::shield([&] { e.wait(); });
    std::rethrow_exception(interruption);
}

class operation {
public:
    explicit operation(const char* name) noexcept : name_(name) {}

    // Throws std::logic_error if another thread is in the operation.
    void begin() {
        if (is_busy_.exchange(true)) {
            throw std::logic_error(std::string("weft: grpc: two threads ") + name_ +
                                   " one stream at once; use a mutex, or one thread for each direction");
        }
        done_.reset();
    }

    void complete(bool ok) noexcept {
        ok_ = ok;
        done_.set();
    }

    // Returns whether the operation has succeeded.
    template <typename Cancel>
    bool wait(Cancel cancel) {
        const end_of_use at_end{is_busy_};
        wait_or_cancel(done_, cancel);
        return ok_;
    }

private:
    struct end_of_use {
        std::atomic<bool>& is_busy;

        ~end_of_use() { is_busy.store(false); }
    };

    const char* name_;
    std::atomic<bool> is_busy_ = false;
    bool ok_ = false;  // written before done_ is set
    weft::event done_;
};

}  // namespace weft::grpc::detail
