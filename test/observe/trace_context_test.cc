// trace_context_test.cc: a profiler outside of the process finds the trace of the green thread that
// runs on each OS thread, and of no other. The tests look where it looks: at the thread-local with
// the name of OTEP 4947, at the offsets of its table.

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/blocking.h>
#include <weft/observe/trace_context.h>
#include <weft/pin.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/retaken.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::current_trace;
using observe::set_current_trace;
using observe::span_id;
using observe::trace_context;
using observe::trace_id;
using observe::trace_key;
using observe::trace_scope;

// What a reader makes of a record.
struct seen_outside {
    uint64_t trace = 0;  // the last eight bytes
    uint64_t span = 0;
    uint8_t flags = 0;
    std::vector<uint8_t> attributes;
};

uint64_t number(const uint8_t* bytes) {
    uint64_t n = 0;
    for (int i = 0; i < 8; ++i) n = n << 8 | bytes[i];
    return n;
}

// The record of the calling OS thread, by the protocol for readers. Not inlined: the address of a
// thread-local must not be kept across a switch.
[[gnu::noinline]] std::optional<seen_outside> look_from_outside() {
    const auto* slot = static_cast<const uint8_t* const*>(::dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"));
    if (slot == nullptr) throw std::runtime_error("no dynamic symbol otel_thread_ctx_v1");
    const uint8_t* record = *slot;
    if (record == nullptr) return {};
    constexpr std::size_t valid_at = 24;
    constexpr std::size_t flags_at = 25;
    constexpr std::size_t size_at = 26;
    constexpr std::size_t attributes_at = 28;
    if (record[valid_at] != 1) return {};
    uint16_t size = 0;
    std::memcpy(&size, record + size_at, sizeof(size));
    return seen_outside{.trace = number(record + 8),
                        .span = number(record + 16),
                        .flags = record[flags_at],
                        .attributes = {record + attributes_at, record + attributes_at + size}};
}

template <std::size_t Size>
std::array<uint8_t, Size> id_of(uint64_t n) {
    std::array<uint8_t, Size> id{};
    for (std::size_t i = 0; i < 8; ++i) id[Size - 1 - i] = static_cast<uint8_t>(n >> (8 * i));
    return id;
}

trace_context numbered(uint64_t n) { return {id_of<16>(n), id_of<8>(n + 1)}; }

// Whether the reader sees numbered(n).
bool outside_is(uint64_t n) {
    const auto seen = look_from_outside();
    return seen && seen->trace == n && seen->span == n + 1;
}

bool outside_is_none() { return !look_from_outside(); }

class TraceContext : public procs_test {
protected:
    TraceContext() : procs_test(60s) {}
};

WEFT_SWEEP(TraceContext);

TEST_P(TraceContext, EachGreenThreadShowsItsOwn) {
    std::atomic<int> wrong = 0;
    const auto check = [&](bool good) {
        if (!good) ++wrong;
    };
    rt().run([&] {
        const chan<int> c;
        wait_group done;
        for (uint64_t i = 1; i <= static_cast<uint64_t>(scaled(100)); ++i) {
            done.go([&, i] {
                check(outside_is_none());
                if (i % 5 != 0) set_current_trace(numbered(i));
                const auto is_mine = [&] { return i % 5 != 0 ? outside_is(i) : outside_is_none(); };
                for (int k = 0; k < 10; ++k) {
                    check(is_mine());
                    weft::yield();
                    check(is_mine());
                    if (i % 2 == 0) {
                        c.send(k);
                    } else {
                        static_cast<void>(c.recv());
                    }
                    check(is_mine());
                    sleep_for(10us);
                    check(is_mine());
                    blocking([&] { check(is_mine()); });
                    check(is_mine());
                }
            });
        }
        done.wait();
        check(outside_is_none());
    });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_TRUE(outside_is_none());
}

TEST_P(TraceContext, IsGoneFromAThreadThatIdles) {
    rt().run([] { set_current_trace(numbered(7)); });
    for (int i = 0; i < 20; ++i) {
        rt().run([&] { EXPECT_TRUE(outside_is_none()); });
    }
}

TEST_P(TraceContext, IsInheritedOnRequest) {
    rt().run([] {
        const trace_scope mine(numbered(3));
        wait_group done;
        done.go({.inherit_locals = true}, [] {
            EXPECT_TRUE(outside_is(3));
            set_current_trace(numbered(4));
            EXPECT_TRUE(outside_is(4));
        });
        done.go([] { EXPECT_TRUE(outside_is_none()); });
        done.wait();
        EXPECT_TRUE(outside_is(3));
    });
}

TEST_P(TraceContext, AScopeRestoresTheOneBefore) {
    const auto nest = [] {
        EXPECT_TRUE(current_trace().empty());
        {
            const trace_scope outer(numbered(10));
            EXPECT_TRUE(outside_is(10));
            {
                const trace_scope inner(current_trace().with_span(id_of<8>(99)));
                EXPECT_EQ(look_from_outside()->trace, 10U);
                EXPECT_EQ(look_from_outside()->span, 99U);
                const trace_scope none{trace_context()};
                EXPECT_TRUE(outside_is_none());
            }
            EXPECT_TRUE(outside_is(10));
        }
        EXPECT_TRUE(outside_is_none());
    };
    rt().run(nest);
    nest();
    std::thread(nest).join();
}

TEST_P(TraceContext, ABlockingCallMayChangeIt) {
    rt().run([] {
        set_current_trace(numbered(1));
        blocking([] {
            EXPECT_TRUE(outside_is(1));
            EXPECT_EQ(number(current_trace().trace().data() + 8), 1U);
            set_current_trace(numbered(2));
            EXPECT_TRUE(outside_is(2));
        });
        EXPECT_TRUE(outside_is(2));
        weft::yield();
        EXPECT_TRUE(outside_is(2));
    });
}

// Green threads that lose their P in the middle.
class TraceContextRetaken : public short_slice_test {
protected:
    TraceContextRetaken() : short_slice_test(60s) {}
};

WEFT_SWEEP_OVER(TraceContextRetaken, 1U, 2U, 4U);

TEST_P(TraceContextRetaken, EachGreenThreadShowsItsOwn) {
    std::atomic<int> wrong = 0;
    const crowd busy(rt());
    rt().run([&] {
        set_current_trace(numbered(5));
        for (int i = 0; i < scaled(30); ++i) {
            lose_p();
            if (!outside_is(5)) ++wrong;
            if (i % 2 == 0) sleep_for(10us);
            if (!outside_is(5)) ++wrong;
        }
    });
    EXPECT_EQ(wrong.load(), 0);
}

TEST(TraceContextValue, HasTheLayoutOfTheDocument) {
    const uint8_t route = trace_key("http_route");
    const uint8_t user = trace_key("user_id");
    EXPECT_NE(route, user);
    EXPECT_EQ(trace_key("http_route"), route);
    EXPECT_EQ(observe::trace_keys().at(user), "user_id");

    const trace_context c(id_of<16>(1), id_of<8>(2), 3, {{route, "/a"}, {user, "x"}});
    EXPECT_EQ(c.attribute(route), "/a");
    EXPECT_EQ(c.attribute(user), "x");
    const trace_scope here(c.with(route, "/bc"));
    const auto seen = look_from_outside();
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->flags, 3);
    EXPECT_EQ(seen->attributes, (std::vector<uint8_t>{user, 1, 'x', route, 3, '/', 'b', 'c'}));
}

TEST(TraceContextValue, IsReadFromAndWrittenAsTraceparent) {
    const std::string header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const trace_context c = trace_context::parse(header);
    EXPECT_EQ(c.traceparent(), header);
    EXPECT_EQ(c.flags(), 1);
    EXPECT_EQ(trace_context().traceparent(), "");
    for (const char* bad : {"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"}) {
        EXPECT_THROW(static_cast<void>(trace_context::parse(bad)), std::invalid_argument) << bad;
    }
}

TEST(TraceContextValue, RefusesWhatReadersDoNotAccept) {
    const trace_id trace = id_of<16>(1);
    const span_id span = id_of<8>(1);
    EXPECT_THROW(trace_context(trace, {}), std::invalid_argument);
    EXPECT_THROW(trace_context({}, span), std::invalid_argument);
    const std::string text(255, 'a');
    const trace_context two(trace, span, 0, {{0, text}, {1, text}});
    EXPECT_EQ(two.attribute(1), text);
    EXPECT_THROW(static_cast<void>(two.with(2, text)), std::invalid_argument) << "more than 640 bytes";
    EXPECT_THROW(static_cast<void>(two.with(0, text + "a")), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(trace_context().with(0, "a")), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(trace_context().with_span(span)), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
