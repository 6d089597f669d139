// both_kinds.h: pairs of connected streams for tests of layers above: plain ones, and TLS ones if
// weft::tls is built.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/debug.h>
#include <weft/net/tcp.h>
#include <weft/runtime.h>

#if WEFT_TEST_WITH_TLS
#include "tls/tls_pair.h"
#endif

namespace weft::test {

struct plain {
    auto maker() {
        return [] {
            net::tcp_listener listener(net::endpoint::loopback(0));
            net::tcp_stream near = net::tcp_stream::connect(listener.local_endpoint());
            net::tcp_stream far = listener.accept();
            return std::pair(std::move(near), std::move(far));
        };
    }
};

#if WEFT_TEST_WITH_TLS
struct secured {
    auto maker() {
        return [this] {
            tls_pair p = connected_pair(trusting, serving);
            return std::pair(std::move(p.client), std::move(p.server));
        };
    }

    tls::context trusting = tls::context::client(usual_client());
    tls::context serving = tls::context::server(usual_server());
};

using both_kinds = ::testing::Types<plain, secured>;
#else
using both_kinds = ::testing::Types<plain>;
#endif

template <typename Kind>
class both_kinds_test : public ::testing::Test {
protected:
    // Runs body(runtime, make_pair) for several numbers of processors.
    template <typename Body>
    void on_each(Body body) {
        for (const unsigned procs : {1U, 2U, 4U}) {
            SCOPED_TRACE(procs);
            runtime rt({.procs = procs});
            body(rt, kind_.maker());
            rt.drain();
        }
    }

private:
    Kind kind_;
};

// The deepest stack use of green threads that have ended on rt. Requires RUN_DEBUG=stack_use=1.
[[nodiscard]] inline std::size_t deepest_stack(const runtime& rt) {
    std::vector<stack_use_at> places(20);
    places.resize(std::min(rt.stack_use(places), places.size()));
    std::size_t deepest = 0;
    for (const stack_use_at& at : places) deepest = std::max(deepest, at.touched);
    return deepest;
}

}  // namespace weft::test
