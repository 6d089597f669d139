// io_copy_test.cc: bytes from one stream to another, and relays between two connections.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/io.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using IoCopy = procs_test;
WEFT_SWEEP(IoCopy);

struct connection {
    net::tcp_stream here;
    net::tcp_stream there;
};

connection connected() {
    net::tcp_listener listener("127.0.0.1:0");
    connection c;
    c.here = net::tcp_stream::connect(listener.local_endpoint());
    c.there = listener.accept();
    return c;
}

TEST_P(IoCopy, CopiesUntilTheSourceEnds) {
    rt().run([] {
        const temp_folder folder;
        const std::string text(200'000, 'x');
        fs::write_file(folder / "from", text);
        fs::file from(folder / "from");
        fs::file to(folder / "to", {.mode = fs::access::write, .create = true});
        EXPECT_EQ(io::copy(from, to), text.size());
        EXPECT_EQ(fs::read_file(folder / "to"), text);
        EXPECT_EQ(io::copy(from, to), 0U);
    });
}

TEST_P(IoCopy, CopiesNoMoreThanItIsAskedFor) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe();
        auto [copied, into] = io::make_memory_pipe();
        writer.write_all("0123456789");
        EXPECT_EQ(io::copy(reader, into, 4), 4U);
        char b[20];
        EXPECT_EQ(copied.read_some(b), 4U);
        EXPECT_EQ(reader.read_some(b), 6U);
        EXPECT_EQ(io::copy(reader, into, 0), 0U);
    });
}

TEST_P(IoCopy, ReportsTheErrorOfEitherStream) {
    rt().run([] {
        std::error_code ec;
        {
            auto [reader, writer] = io::make_memory_pipe();
            auto [copied, into] = io::make_memory_pipe();
            writer.write_all("abc");
            writer.fail(std::make_error_code(std::errc::io_error));
            EXPECT_EQ(io::copy(reader, into, ec), 3U);
            EXPECT_EQ(ec, std::errc::io_error);
            EXPECT_THROW(io::copy(reader, into), std::system_error);
        }
        auto [reader, writer] = io::make_memory_pipe();
        auto [copied, into] = io::make_memory_pipe(2);
        writer.write_all("abc");
        writer.close();
        copied.close();
        EXPECT_EQ(io::copy(reader, into, ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
    });
}

TEST_P(IoCopy, RelaysBothWaysUntilBothSidesHaveEnded) {
    rt().run([] {
        connection client = connected();
        connection server = connected();
        io::relayed moved;
        scope([&](task_scope& s) {
            s.go([&] { moved = io::relay(client.there, server.here); });
            s.go([&] {  // answers only when the request has ended
                const std::string request = io::buffered_reader(server.there).read_rest();
                server.there.write_all("answer to " + request);
                server.there.close();
            });
            client.here.write_all("question");
            client.here.shutdown_send();
            EXPECT_EQ(io::buffered_reader(client.here).read_rest(), "answer to question");
        });
        EXPECT_EQ(moved.forth, 8U);
        EXPECT_EQ(moved.back, 18U);
    });
}

TEST_P(IoCopy, ARelayEndsWhenItsScopeIsCancelled) {
    rt().run([] {
        connection client = connected();
        connection server = connected();
        EXPECT_THROW(with_timeout(5ms, [&] { io::relay(client.there, server.here); }), timed_out);
        client.here.write_all("still open");
        client.here.shutdown_send();
        EXPECT_EQ(io::buffered_reader(client.there).read_rest(), "still open");
    });
}

TEST_P(IoCopy, AnErrorOfOneDirectionEndsTheOther) {
    rt().run([] {
        connection client = connected();
        connection server = connected();
        scope([&](task_scope& s) {
            s.go([&] { EXPECT_THROW(io::relay(client.there, server.here), std::system_error); });
            client.there.set_read_deadline(std::chrono::steady_clock::now() + 2ms);
        });
    });
}

}  // namespace
}  // namespace weft::test
