// every_wait_test.cc: each call that blocks, ended by a deadline, a cancellation, close() or a
// runtime that stops; or by none of them, where the documentation says so.

#include "conformance/every_wait.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <ostream>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {

std::ostream& operator<<(std::ostream& out, call_end e) {
    switch (e) {
        case call_end::returned:
            return out << "returned";
        case call_end::timed_out:
            return out << "timed out";
        case call_end::cancelled:
            return out << "cancelled";
        case call_end::closed:
            return out << "closed";
        case call_end::failed:
            break;
    }
    return out << "failed";
}

namespace {

using namespace std::chrono_literals;

call_end end_of(const std::function<void()>& call) {
    try {
        call();
        return call_end::returned;
    } catch (const cancelled&) {
        return call_end::cancelled;
    } catch (const timed_out&) {
        return call_end::timed_out;
    } catch (const channel_closed&) {
        return call_end::closed;
    } catch (const std::system_error& e) {
        return e.code() == errc::closed ? call_end::closed : call_end::failed;
    } catch (const std::exception&) {
        return call_end::failed;
    }
}

class EveryWait : public procs_test {
protected:
    EveryWait() : procs_test(20s) { close_name_server(); }

    // Creates what lives as long as the process: the pollers of plain threads and of the default
    // runtime, the descriptor that signals mark, and so on.
    static void SetUpTestSuite() {
        open_outside_poller();
        close_name_server();
        for (const blocking_row& row : blocking_rows()) {
            if (!row.interrupted) continue;
            const blocking_call call = row.make();
            EXPECT_EQ(end_of([&] { with_timeout(1ms, call.wait); }), call_end::timed_out)
                << row.call << ", a plain thread";
        }
        open_name_server();
        eventually([] { return stats().live == 0; });
    }

    void TearDown() override {
        open_name_server();
        procs_test::TearDown();
    }

    // A green thread of `where` that makes the call and is blocked in it.
    class blocked {
    public:
        blocked(runtime& where, const blocking_row& row, std::function<void()> wait) {
            const uint64_t before = where.stats().parks;
            done_ = where.async([this, wait = std::move(wait)] {
                begun_ = true;
                end_ = end_of(wait);
            });
            eventually([&] { return begun_ && (row.on_os_thread || where.stats().parks > before); });
        }

        void cancel() { done_->cancel(); }

        [[nodiscard]] bool has_ended() const { return done_->is_ready(); }

        call_end end() {
            done_->wait();
            return end_;
        }

    private:
        std::atomic<bool> begun_ = false;
        std::atomic<call_end> end_ = call_end::failed;
        std::optional<future<void>> done_;
    };

    // After interrupt() the call keeps waiting, until it is released.
    template <typename Interrupt>
    static void expect_it_goes_on(blocked& b, const blocking_call& call, Interrupt interrupt) {
        interrupt();
        std::this_thread::sleep_for(2ms);
        EXPECT_FALSE(b.has_ended());
        call.release();
        EXPECT_EQ(b.end(), call_end::returned);
    }
};

WEFT_SWEEP_OVER(EveryWait, 1U, 4U);

TEST_P(EveryWait, ADeadlineEndsExactlyTheCancellationPoints) {
    for (const blocking_row& row : blocking_rows()) {
        SCOPED_TRACE(row.call);
        const blocking_call call = row.make();
        blocked b(rt(), row, [&] { with_timeout(1ms, call.wait); });
        if (row.interrupted) {
            EXPECT_EQ(b.end(), call_end::timed_out);
        } else {
            expect_it_goes_on(b, call, [] {});
        }
    }
}

TEST_P(EveryWait, ACancellationEndsExactlyTheCancellationPoints) {
    for (const blocking_row& row : blocking_rows()) {
        SCOPED_TRACE(row.call);
        const blocking_call call = row.make();
        blocked b(rt(), row, call.wait);
        if (row.interrupted) {
            b.cancel();
            EXPECT_EQ(b.end(), call_end::cancelled);
        } else {
            expect_it_goes_on(b, call, [&] { b.cancel(); });
        }
    }
}

TEST_P(EveryWait, ClosingTheObjectEndsTheWait) {
    for (const blocking_row& row : blocking_rows()) {
        if (!row.interrupted) continue;
        SCOPED_TRACE(row.call);
        const blocking_call call = row.make();
        if (!call.close) continue;
        blocked b(rt(), row, call.wait);
        call.close();
        EXPECT_EQ(b.end(), row.when_closed);
    }
}

TEST_P(EveryWait, AStopEndsExactlyTheCancellationPoints) {
    for (const blocking_row& row : blocking_rows()) {
        SCOPED_TRACE(row.call);
        const blocking_call call = row.make();
        runtime other({.procs = procs()});
        blocked b(other, row, call.wait);
        stop_outcome outcome;
        if (row.interrupted) {
            outcome = other.shutdown(patience());
            EXPECT_EQ(b.end(), call_end::cancelled);
        } else {
            std::thread stopper;
            expect_it_goes_on(b, call, [&] { stopper = std::thread([&] { outcome = other.shutdown(patience()); }); });
            stopper.join();
        }
        EXPECT_EQ(outcome.abandoned, 0U);
        EXPECT_EQ(outcome.stragglers, 0U);
    }
}

}  // namespace
}  // namespace weft::test
