// tls_interop_test.cc: the peer is not weft: OpenSSL's own programs, and OpenSSL on a blocking
// socket.

#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/held_port.h"
#include "support/scale.h"
#include "support/temp_folder.h"
#include "tls/tls_pair.h"

extern char** environ;  // NOLINT: POSIX's name

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::const_buffer;
using tls::context;
using tls::stream;

class TlsInterop : public tls_test {
protected:
    // Runs body in a plain thread, with a client's SSL on a blocking socket that is connected to
    // pair_.server. Destroying the returned object waits for the thread.
    [[nodiscard]] std::jthread foreign_client(int most, const std::function<void(SSL*)>& body) {
        net::tcp_stream near;
        rt().run([&] {
            net::tcp_stream far;
            std::tie(near, far) = tcp_pair();
            pair_.server = stream::server(std::move(far), serving_);
        });
        return std::jthread([fd = near.release(), most, body] {
            ::fcntl(fd, F_SETFL, 0);
            SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_max_proto_version(ctx, most);
            SSL* ssl = SSL_new(ctx);
            SSL_set_fd(ssl, fd);
            EXPECT_EQ(SSL_connect(ssl), 1);
            body(ssl);
            SSL_free(ssl);
            SSL_CTX_free(ctx);
            ::close(fd);
        });
    }
};

WEFT_SWEEP_OVER(TlsInterop, 1U, 4U);

void write_whole(SSL* ssl, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        std::size_t n = 0;
        ASSERT_EQ(SSL_write_ex(ssl, text.data() + done, std::min(text.size() - done, std::size_t{16384}), &n), 1);
        done += n;
    }
}

std::size_t read_whole(SSL* ssl, std::string& into) {
    std::size_t done = 0;
    for (std::size_t n = 0; done < into.size() && SSL_read_ex(ssl, into.data() + done, into.size() - done, &n) == 1;)
        done += n;
    return done;
}

// Sends close_notify, and waits until the other side closes. Closing a socket that has unread data
// discards what it still has to send.
void say_goodbye(SSL* ssl) {
    EXPECT_GE(SSL_shutdown(ssl), 0);
    char unread[1024];
    while (::read(SSL_get_fd(ssl), unread, sizeof(unread)) > 0) continue;
}

// The peer requests new keys again and again, while it only writes; our writer is stuck at that
// time. (OpenSSL 3.0 leaves the answer to the next write; other versions may not.)
TEST_P(TlsInterop, NewKeysAreAnsweredWithoutWaiting) {
    const std::size_t size = static_cast<std::size_t>(scaled(128)) * 65536;
    const std::jthread client = foreign_client(TLS1_3_VERSION, [&](SSL* ssl) {
        for (std::size_t sent = 0; sent < size; sent += 65536) {
            EXPECT_EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
            write_whole(ssl, std::string(65536, 'c'));
        }
        std::string got(size, ' ');
        EXPECT_EQ(read_whole(ssl, got), size);
        EXPECT_EQ(got.find_first_not_of('s'), std::string::npos);
        say_goodbye(ssl);
    });
    rt().run([&] {
        wait_group both;
        both.go([&] { EXPECT_EQ(pair_.server.write_all(std::string(size, 's')), size); });
        std::string got(size, ' ');
        EXPECT_EQ(pair_.server.read(got), size);
        EXPECT_EQ(got.find_first_not_of('c'), std::string::npos);
        both.wait();
        EXPECT_EQ(pair_.server.read(got), 0U);
        pair_.server.close();
    });
}

// The same, but no thread writes then: the last write has filled the connection.
TEST_P(TlsInterop, NewKeysAreAnsweredWithoutWaitingForTheSocket) {
    const std::size_t size = static_cast<std::size_t>(scaled(64)) * 65536;
    const std::string much(std::size_t{32} << 20, 's');
    const std::jthread client = foreign_client(TLS1_3_VERSION, [&](SSL* ssl) {
        for (std::size_t sent = 0; sent < size; sent += 65536) {
            EXPECT_EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
            write_whole(ssl, std::string(65536, 'c'));
        }
        std::string got(much.size(), ' ');
        EXPECT_EQ(read_whole(ssl, got), much.size());
        EXPECT_TRUE(got == much);
        say_goodbye(ssl);
    });
    rt().run([&] {
        std::error_code ec;
        pair_.server.handshake();
        pair_.server.set_write_deadline(std::chrono::steady_clock::now() + 20ms);
        const std::size_t done = pair_.server.write_all(much, ec);
        EXPECT_EQ(ec, weft::errc::timed_out);
        pair_.server.clear_deadline();
        std::string got(size, ' ');
        EXPECT_EQ(pair_.server.read(got), size);
        EXPECT_EQ(got.find_first_not_of('c'), std::string::npos);
        EXPECT_EQ(pair_.server.write_all(const_buffer(much.data() + done, much.size() - done)), much.size() - done);
        EXPECT_EQ(pair_.server.read(got), 0U);
        pair_.server.close();
    });
}

TEST_P(TlsInterop, TheNextWriteSendsTheAnswerToNewKeys) {
    const std::jthread client = foreign_client(TLS1_3_VERSION, [&](SSL* ssl) {
        EXPECT_EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        write_whole(ssl, "ask");
        char b[1];
        EXPECT_EQ(SSL_peek(ssl, b, 1), 1) << "the answer is before it";
        EXPECT_EQ(SSL_read(ssl, b, 1), 1);
        say_goodbye(ssl);
    });
    rt().run([&] {
        std::string got(3, ' ');
        EXPECT_EQ(pair_.server.read(got), 3U);
        pair_.server.write_all("!");
        EXPECT_EQ(pair_.server.read(got), 0U);
        pair_.server.close();
    });
}

// The reader must send an alert, and the connection is full. It sends the alert if it can, and does
// not wait for that.
TEST_P(TlsInterop, AReaderDoesNotWaitToSendAnAlert) {
    std::atomic<bool> over = false;
    const std::jthread client = foreign_client(TLS1_3_VERSION, [&](SSL* ssl) {
        const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
        EXPECT_EQ(::write(SSL_get_fd(ssl), forged.data(), forged.size()), static_cast<ssize_t>(forged.size()));
        eventually([&] { return over.load(); });
    });
    rt().run([&] {
        std::error_code ec;
        pair_.server.handshake();
        pair_.server.set_write_deadline(std::chrono::steady_clock::now() + 20ms);
        pair_.server.write_all(std::string(std::size_t{32} << 20, 's'), ec);
        EXPECT_EQ(ec, weft::errc::timed_out);
        pair_.server.clear_deadline();
        char b[1];
        EXPECT_EQ(pair_.server.read_some(b, ec), 0U);
        EXPECT_EQ(ec, tls::errc::protocol_error) << pair_.server.failure();
        over = true;
    });
}

TEST_P(TlsInterop, RenegotiationIsRefused) {
    const std::jthread client = foreign_client(TLS1_2_VERSION, [&](SSL* ssl) {
        write_whole(ssl, "once");
        EXPECT_EQ(SSL_renegotiate(ssl), 1);
        EXPECT_LE(SSL_do_handshake(ssl), 0);
        ERR_clear_error();
    });
    rt().run([&] {
        std::string got(4, ' ');
        EXPECT_EQ(pair_.server.read(got), 4U);
        EXPECT_EQ(pair_.server.agreed_version(), tls::version::tls_1_2);
        std::error_code ec;
        EXPECT_EQ(pair_.server.read(got, ec), 0U);
        EXPECT_TRUE(ec) << "it has gone";
    });
}

// ---- The program openssl.

// A folder with the files that it needs. The destructor removes it.
class files {
public:
    files() {
        const tls::certificate shown = test_authority().issue();
        write("authority.pem", test_authority().pem());
        write("chain.pem", shown.chain);
        write("key.pem", shown.key);
    }

    [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }

    void write(const std::string& name, const std::string& text) const { std::ofstream(at(name)) << text; }

private:
    temp_folder folder_;
};

bool has_openssl() { return std::system("command -v openssl >/dev/null 2>&1") == 0; }  // NOLINT(concurrency-mt-unsafe)

// Returns the output of a shell command.
std::string output_of(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "re"), &::pclose);
    std::string all;
    char piece[1024];
    while (const std::size_t n = std::fread(piece, 1, sizeof(piece), pipe.get())) all.append(piece, n);
    return all;
}

TEST_P(TlsInterop, ServesTheOpensslClient) {
    if (!has_openssl()) GTEST_SKIP() << "no program openssl";
    const files f;
    tls::server_options options;
    options.own = {tls::certificate::from_files(f.at("chain.pem"), f.at("key.pem"))};
    options.protocols = {"greeting"};
    const context server = context::server(options);
    for (const char* version : {"-tls1_2", "-tls1_3"}) {
        net::tcp_listener listener(net::endpoint::loopback(0));
        std::string asked;
        rt().go([&] {
            stream s = stream::server(listener.accept(), server);
            asked.resize(5);
            EXPECT_EQ(s.read(asked), 5U);
            s.write_all("hello " + asked + s.protocol() + '\n');
            s.close();
        });
        f.write("input", "world");
        const std::string said = output_of(
            "openssl s_client -quiet -verify_return_error -verify_hostname example.test -servername example.test -alpn "
            "greeting " +
            std::string(version) + " -CAfile " + f.at("authority.pem") + " -connect " +
            listener.local_endpoint().to_string() + " < " + f.at("input") + " 2>" + f.at("errors"));
        rt().drain();
        EXPECT_EQ(asked, "world");
        EXPECT_EQ(said, "hello worldgreeting\n");
    }
}

TEST_P(TlsInterop, ConnectsToTheOpensslServer) {
    if (!has_openssl()) GTEST_SKIP() << "no program openssl";
    const files f;
    // A port that was free a moment ago.
    const held_port held;
    const net::endpoint at = held.at();
    const std::string port = std::to_string(held.port());
    const std::string chain = f.at("chain.pem");
    const std::string key = f.at("key.pem");
    const char* arguments[] = {"openssl",    "s_server", "-quiet",      "-rev", "-naccept",  "1",    "-accept",
                               port.c_str(), "-cert",    chain.c_str(), "-key", key.c_str(), nullptr};
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&silent, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    ASSERT_EQ(::posix_spawnp(&child, "openssl", &silent, nullptr, const_cast<char**>(arguments), environ), 0);
    posix_spawn_file_actions_destroy(&silent);
    rt().run([&] {
        std::error_code ec;
        stream s;
        for (int i = 0; i < 1000; ++i) {
            s = stream::connect(at, "example.test", trusting_, ec);
            if (ec != std::errc::connection_refused) break;
            sleep_for(10ms);
        }
        ASSERT_FALSE(ec) << ec.message();
        s.write_all("stressed\n");
        std::string got(9, ' ');
        EXPECT_EQ(s.read(got), 9U);
        EXPECT_EQ(got, "desserts\n");
        s.close();
    });
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace weft::test
