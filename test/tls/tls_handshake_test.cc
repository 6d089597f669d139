// tls_handshake_test.cc: which peers accept each other, and the errors if they do not.

#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/environment.h"
#include "tls/tls_pair.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using tls::context;
using tls::errc;
using tls::stream;

class TlsHandshake : public tls_test {
protected:
    // Makes a handshake on both sides, with options other than the usual ones.
    handshake_result meet(const context& client, const context& server, const char* host = "example.test") {
        handshake_result r;
        rt().run([&] {
            pair_ = raw_pair(client, server, host);
            r = shake_hands(pair_);
        });
        return r;
    }

    // The same, where the server presents this certificate.
    handshake_result meet_server_with(const tls::certificate& shown, const char* host = "example.test") {
        return meet(trusting_, context::server(shown), host);
    }

    // The error of a server whose client sends these bytes.
    handshake_result send_to_server(std::string_view bytes) {
        handshake_result r;
        rt().run([&] {
            auto [near, far] = tcp_pair();
            near.write_all(bytes);
            near.shutdown_send();
            stream s = stream::server(std::move(far), serving_);
            s.handshake(r.server);
            r.server_failure = s.failure();
        });
        return r;
    }
};

WEFT_SWEEP_OVER(TlsHandshake, 1U, 4U);

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST_P(TlsHandshake, BothEndsReportTheAgreedParameters) {
    EXPECT_EQ(pair_.client.agreed_version(), tls::version::tls_1_3);
    EXPECT_EQ(pair_.server.agreed_version(), tls::version::tls_1_3);
    EXPECT_TRUE(contains(pair_.client.cipher(), "TLS_")) << pair_.client.cipher();
    EXPECT_EQ(pair_.client.cipher(), pair_.server.cipher());
    EXPECT_EQ(pair_.client.peer(), "CN = example.test");
    EXPECT_EQ(pair_.server.peer(), "");
    EXPECT_EQ(pair_.server.asked_host(), "example.test");
    EXPECT_EQ(pair_.client.protocol(), "");
    EXPECT_EQ(pair_.client.failure(), "");
    const tls_pair raw = rt().run([&] { return raw_pair(trusting_, serving_); });
    EXPECT_EQ(raw.client.cipher() + raw.client.peer() + raw.server.asked_host(), "") << "before the handshake";
}

TEST_P(TlsHandshake, TheFirstReadOrWriteStartsIt) {
    rt().run([&] {
        pair_ = raw_pair(trusting_, serving_);
        wait_group all;
        for (int i = 0; i < 3; ++i) {
            all.go([&] { pair_.client.write_all("abc"); });
            all.go([&] {
                char b[3];
                EXPECT_EQ(pair_.server.read(b), 3U);
            });
        }
        all.wait();
    });
}

TEST_P(TlsHandshake, NamesAndAddressesAreCompared) {
    const tls::certificate shown = test_authority().issue({.hosts = {"example.test", "*.wild.test", "127.0.0.1"}});
    EXPECT_FALSE(meet_server_with(shown, "example.test").client);
    EXPECT_FALSE(meet_server_with(shown, "EXAMPLE.test.").client);
    EXPECT_FALSE(meet_server_with(shown, "a.wild.test").client);
    EXPECT_FALSE(meet_server_with(shown, "127.0.0.1").client);
    EXPECT_EQ(pair_.server.asked_host(), "") << "addresses are not asked for";
    EXPECT_EQ(meet_server_with(shown, "a.b.wild.test").client, errc::wrong_host);
    EXPECT_EQ(meet_server_with(shown, "127.0.0.2").client, errc::wrong_host);
    const handshake_result r = meet_server_with(shown, "other.test");
    EXPECT_EQ(r.client, errc::wrong_host);
    EXPECT_TRUE(contains(r.client_failure, "DNS:example.test, DNS:*.wild.test, IP Address:127.0.0.1"))
        << r.client_failure;
    EXPECT_TRUE(contains(r.client_failure, "not for \"other.test\"")) << r.client_failure;
    EXPECT_EQ(r.server, errc::certificate_refused) << "it is told";
    EXPECT_TRUE(contains(r.client.message(), "connect by a name that the certificate contains")) << r.client.message();
}

TEST_P(TlsHandshake, AnUntrustedCertificateIsRefused) {
    const authority stranger("somebody else");
    handshake_result r = meet_server_with(stranger.issue());
    EXPECT_EQ(r.client, errc::unknown_authority);
    EXPECT_TRUE(contains(r.client_failure, "signed by \"CN = somebody else\"")) << r.client_failure;
    EXPECT_TRUE(contains(r.client.message(), "add its authority to trusted")) << r.client.message();
    // The system's authorities do not know it either.
    r = meet(context::client(), context::server(stranger.issue()));
    EXPECT_EQ(r.client, errc::unknown_authority);
    // The exception has all details.
    rt().run([&] {
        net::tcp_listener listener(net::endpoint::loopback(0));
        go([&] {
            std::error_code ec;
            stream s = stream::server(listener.accept(ec), context::server(stranger.issue()));
            s.handshake(ec);
        });
        try {
            static_cast<void>(stream::connect(listener.local_endpoint(), "example.test", trusting_));
            FAIL();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), errc::unknown_authority);
            EXPECT_TRUE(contains(e.what(), "TLS handshake with \"example.test\" at 127.0.0.1:")) << e.what();
            EXPECT_TRUE(contains(e.what(), "CN = somebody else")) << e.what();
        }
        std::error_code ec;
        go([&] {
            std::error_code why;
            stream s = stream::server(listener.accept(why), context::server(stranger.issue()));
            s.handshake(why);
        });
        const stream refused = stream::connect(listener.local_endpoint(), "example.test", trusting_, ec);
        EXPECT_EQ(ec, errc::unknown_authority);
        EXPECT_FALSE(refused.is_open());
        EXPECT_TRUE(contains(refused.failure(), "CN = somebody else")) << refused.failure();
    });
    rt().drain();
    // Without verification any server is accepted. A certificate that is itself trusted needs no
    // authority.
    EXPECT_FALSE(meet(context::client({.verify = false}), context::server(stranger.issue())).client);
    const tls::certificate pinned = stranger.issue();
    EXPECT_FALSE(
        meet(context::client({.trust_system = false, .trusted = pinned.chain}), context::server(pinned)).client);
}

TEST_P(TlsHandshake, ACertificateOutsideItsValidityIsRefused) {
    handshake_result r = meet_server_with(test_authority().issue({.valid_from = -7200, .valid_until = -3600}));
    EXPECT_EQ(r.client, errc::certificate_expired);
    EXPECT_TRUE(contains(r.client_failure, "expired on")) << r.client_failure;
    r = meet_server_with(test_authority().issue({.valid_from = 3600, .valid_until = 7200}));
    EXPECT_EQ(r.client, errc::certificate_not_yet);
    EXPECT_TRUE(contains(r.client_failure, "is not valid before")) << r.client_failure;
}

TEST_P(TlsHandshake, ApplicationProtocolsAreChosenByTheServer) {
    tls::client_options client = usual_client();
    tls::server_options server = usual_server();
    client.protocols = {"http/1.1", "h2"};
    server.protocols = {"h2", "http/1.1"};
    EXPECT_FALSE(meet(context::client(client), context::server(server)).client);
    EXPECT_EQ(pair_.client.protocol(), "h2");
    EXPECT_EQ(pair_.server.protocol(), "h2");
    server.protocols = {"other"};
    const handshake_result r = meet(context::client(client), context::server(server));
    EXPECT_EQ(r.server, errc::no_common_protocol);
    EXPECT_EQ(r.client, errc::no_common_protocol);
    EXPECT_FALSE(meet(trusting_, context::server(server)).client) << "a client that offers none is not refused";
    EXPECT_EQ(pair_.client.protocol(), "");
    client.protocols = {""};
    EXPECT_THROW(static_cast<void>(context::client(client)), std::invalid_argument);
}

TEST_P(TlsHandshake, TheServerPicksTheCertificateOfTheHost) {
    const context server = context::server(
        {.own = {test_authority().issue({.hosts = {"one.test"}}), test_authority().issue({.hosts = {"two.test"}}),
                 test_authority().issue({.hosts = {"*.three.test"}})}});
    for (const char* host : {"one.test", "two.test", "any.three.test"}) {
        EXPECT_FALSE(meet(trusting_, server, host).client) << host;
        EXPECT_EQ(pair_.server.asked_host(), host);
    }
    EXPECT_EQ(pair_.client.peer(), "CN = *.three.test");
    const handshake_result r = meet(trusting_, server, "four.test");
    EXPECT_EQ(r.client, errc::wrong_host);
    EXPECT_TRUE(contains(r.client_failure, "one.test")) << "the first, if none is for it: " << r.client_failure;
}

TEST_P(TlsHandshake, AServerMayRequireClientCertificates) {
    tls::server_options server = usual_server();
    server.trusted = test_authority().pem();
    server.who = tls::server_options::clients::must_show_certificate;
    const context strict = context::server(server);
    handshake_result r = meet(trusting_, strict);
    EXPECT_EQ(r.server, errc::no_certificate);
    EXPECT_EQ(r.client, errc::certificate_refused);
    EXPECT_TRUE(contains(r.client_failure, "certificate required")) << r.client_failure;
    tls::client_options client = usual_client();
    client.own = test_authority().issue({.hosts = {"someone"}});
    EXPECT_FALSE(meet(context::client(client), strict).server);
    EXPECT_EQ(pair_.server.peer(), "CN = someone");
    client.own = authority("a stranger").issue();
    r = meet(context::client(client), strict);
    EXPECT_EQ(r.server, errc::unknown_authority);
    EXPECT_EQ(r.client, errc::certificate_refused);
    server.who = tls::server_options::clients::may_show_certificate;
    EXPECT_FALSE(meet(trusting_, context::server(server)).server);
    EXPECT_EQ(meet(context::client(client), context::server(server)).server, errc::unknown_authority);
    server.trusted.clear();
    EXPECT_THROW(static_cast<void>(context::server(server)), std::invalid_argument);
}

TEST_P(TlsHandshake, OldVersionsAreRefused) {
    tls::server_options server = usual_server();
    server.minimum = tls::version::tls_1_3;
    const context modern = context::server(server);
    // A peer with at most TLS 1.2: the first message of such a client.
    rt().run([&] {
        for (const int most : {TLS1_2_VERSION, TLS1_1_VERSION, TLS1_VERSION}) {
            SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_security_level(ctx, 0);
            SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
            SSL_CTX_set_max_proto_version(ctx, most);
            SSL* old = SSL_new(ctx);
            SSL_set_bio(old, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
            SSL_set_connect_state(old);
            EXPECT_LE(SSL_do_handshake(old), 0);
            char* hello = nullptr;
            const long size = BIO_get_mem_data(SSL_get_wbio(old), &hello);
            auto [near, far] = tcp_pair();
            near.write_all({hello, static_cast<std::size_t>(size)});
            stream s = stream::server(std::move(far), most == TLS1_2_VERSION ? modern : serving_);
            std::error_code ec;
            s.handshake(ec);
            EXPECT_EQ(ec, errc::protocol_version) << most << ' ' << s.failure();
            char alert[7];
            EXPECT_EQ(near.read(alert), 7U) << "and it is told so";
            EXPECT_EQ(alert[6], SSL_AD_PROTOCOL_VERSION);
            SSL_free(old);
            SSL_CTX_free(ctx);
        }
    });
}

TEST_P(TlsHandshake, TrafficOtherThanTlsIsReported) {
    handshake_result r = send_to_server("GET / HTTP/1.1\r\nHost: example.test\r\n\r\n");
    EXPECT_EQ(r.server, errc::not_tls);
    EXPECT_TRUE(contains(r.server_failure, "http request")) << r.server_failure;
    r = send_to_server("what is this, and why is it here?");
    EXPECT_EQ(r.server, errc::not_tls);
    r = send_to_server({"\x16\x03\x01\x00\x20 garbage in a record of the handshake", 40});
    EXPECT_EQ(r.server.category(), tls::error_category());
    r = send_to_server("");
    EXPECT_EQ(r.server, errc::ended_in_handshake);
    // A client that connected to a server of another protocol.
    rt().run([&] {
        auto [near, far] = tcp_pair();
        far.write_all("HTTP/1.1 400 Bad Request\r\n\r\n");
        stream s = stream::client(std::move(near), "example.test", trusting_);
        std::error_code ec;
        s.handshake(ec);
        EXPECT_EQ(ec, errc::not_tls);
        EXPECT_TRUE(contains(ec.message(), "check the port")) << ec.message();
        s.handshake(ec);
        EXPECT_EQ(ec, errc::not_tls) << "and stays so";
        EXPECT_EQ(s.write_all("x", ec), 0U);
        EXPECT_EQ(ec, errc::not_tls);
    });
}

// Data that was changed on its way, after the handshake.
TEST_P(TlsHandshake, ForgedDataIsNotRead) {
    rt().run([&] {
        // A middleman forwards all bytes, and changes the first byte of the client's data when told
        // to.
        auto [client_side, middle_near] = tcp_pair();
        auto [middle_far, server_side] = tcp_pair();
        std::atomic<bool> forge = false;
        wait_group all;
        const auto pass_on = [](net::tcp_stream& from, net::tcp_stream& to, const std::function<void(char&)>& change) {
            char b[20'000];
            std::error_code ec;
            while (const std::size_t n = from.read_some(b, ec)) {
                change(b[n - 1]);
                to.write_all(net::const_buffer(b, n), ec);
                if (ec) break;
            }
            to.shutdown_send(ec);
        };
        all.go([&] {
            pass_on(middle_near, middle_far, [&](char& last) { last = forge ? static_cast<char>(~last) : last; });
        });
        all.go([&] { pass_on(middle_far, middle_near, [](char&) {}); });
        stream client = stream::client(std::move(client_side), "example.test", trusting_);
        stream server = stream::server(std::move(server_side), serving_);
        all.go([&] {
            server.handshake();
            char b[100];
            EXPECT_EQ(server.read_some(b), 4U);
            server.write_all("go on");
            std::error_code ec;
            EXPECT_EQ(server.read_some(b, ec), 0U);
            EXPECT_EQ(ec, errc::protocol_error) << ec.message();
            server.close();
        });
        client.write_all("true");
        char b[100];
        EXPECT_EQ(client.read_some(b), 5U);
        forge = true;
        client.write_all("false");
        std::error_code ec;
        EXPECT_EQ(client.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::refused) << "the server has said why: " << client.failure();
        EXPECT_TRUE(contains(client.failure(), "bad record mac")) << client.failure();
        client.close();
        all.wait();
    });
}

TEST_P(TlsHandshake, CanContinueAfterADeadline) {
    rt().run([&] {
        pair_ = raw_pair(trusting_, serving_);
        std::error_code ec;
        pair_.client.set_deadline(std::chrono::steady_clock::now() + 3ms);
        pair_.client.handshake(ec);
        EXPECT_EQ(ec, weft::errc::timed_out);
        EXPECT_THROW(with_timeout(3ms,
                                  [&] {
                                      pair_.client.clear_deadline();
                                      pair_.client.handshake();
                                  }),
                     timed_out);
        const handshake_result r = shake_hands(pair_);
        EXPECT_FALSE(r.client);
        EXPECT_FALSE(r.server);
    });
}

TEST_P(TlsHandshake, ASessionIsResumed) {
    EXPECT_FALSE(pair_.client.resumed());
    const handshake_result r = meet(trusting_, serving_);  // a context that has met the server before
    EXPECT_FALSE(r.client);
    EXPECT_TRUE(pair_.client.resumed());
    EXPECT_TRUE(pair_.server.resumed());
    EXPECT_EQ(pair_.client.peer(), "CN = example.test");
    const context other = context::server(usual_server());  // with other keys
    EXPECT_FALSE(meet(trusting_, other).client);
    EXPECT_FALSE(pair_.client.resumed());
    tls::client_options without = usual_client();
    without.sessions = 0;
    const context forgetful = context::client(without);
    EXPECT_FALSE(meet(forgetful, serving_).client);
    EXPECT_FALSE(meet(forgetful, serving_).client);
    EXPECT_FALSE(pair_.client.resumed());
}

TEST_P(TlsHandshake, UnusableCredentialsReportTheCause) {
    const auto why = [](const tls::certificate& c) -> std::string {
        try {
            static_cast<void>(context::server(c));
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), errc::unusable_credentials);
            return e.what();
        }
        return "nothing is wrong";
    };
    const tls::certificate good = test_authority().issue();
    EXPECT_TRUE(contains(why({"", good.key}), "chain contains no certificate"));
    EXPECT_TRUE(contains(why({good.chain, ""}), "BEGIN PRIVATE KEY")) << why({good.chain, ""});
    EXPECT_TRUE(contains(why({good.chain, encrypted_key()}), "decrypt it first")) << why({good.chain, encrypted_key()});
    EXPECT_TRUE(contains(why({good.chain, test_authority().issue().key}), "does not belong to"));
    std::string damaged = good.chain;
    damaged[100] = '!';
    EXPECT_TRUE(contains(why({damaged, good.key}), "certificate 1 of the PEM text")) << why({damaged, good.key});
    EXPECT_THROW(static_cast<void>(context::server(tls::server_options())), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(context::client({.trusted = "no PEM"})), std::system_error);
    try {
        static_cast<void>(tls::certificate::from_files("/nowhere/chain.pem", "/nowhere/key.pem"));
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_TRUE(contains(e.what(), "/nowhere/chain.pem")) << e.what();
    }
    EXPECT_THROW(static_cast<void>(stream::client(net::tcp_stream(), "", trusting_)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(stream::client(net::tcp_stream(), ".example", trusting_)), std::invalid_argument)
        << "would be any name below that";
    EXPECT_THROW(static_cast<void>(stream::client(net::tcp_stream(), "a", serving_)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(stream::server(net::tcp_stream(), trusting_)), std::invalid_argument);
}

TEST_P(TlsHandshake, EveryCodeHasAText) {
    for (int code = 1; code <= static_cast<int>(errc::unusable_credentials); ++code) {
        EXPECT_FALSE(contains(tls::error_category().message(code), "unknown")) << code;
    }
    EXPECT_TRUE(contains(tls::error_category().message(99), "unknown error 99"));
    EXPECT_EQ(std::string(tls::error_category().name()), "weft.tls");
}

// Each runs on a fresh stack of the usual size, with only the top page touched before.
TEST_P(TlsHandshake, FitsTheUsualStack) {
    if (built_with_sanitizer) GTEST_SKIP() << "frames are larger";
    const environment_variable measured("RUN_DEBUG", "stack_use=1");
    for (const key_kind kind : {key_kind::elliptic, key_kind::rsa}) {
        const tls::certificate shown = test_authority().issue({.kind = kind});
        tls::server_options options = usual_server();
        options.own = {shown};
        options.who = tls::server_options::clients::must_show_certificate;
        options.trusted = test_authority().pem();
        tls::client_options mine = usual_client();
        mine.own = shown;
        const context client = context::client(mine);
        const context server = context::server(options);
        runtime fresh({.procs = procs()});
        tls_pair p = fresh.run([&] { return raw_pair(client, server); });
        std::error_code ec;
        fresh.go([&] { p.client.handshake(ec); });
        fresh.go([&] { p.server.handshake(); });
        fresh.drain();
        EXPECT_FALSE(ec) << ec.message();
        std::vector<stack_use_at> places(10);
        places.resize(std::min(fresh.stack_use(places), places.size()));
        std::size_t deepest = 0;
        for (const stack_use_at& at : places) deepest = std::max(deepest, at.touched);
        RecordProperty(kind == key_kind::rsa ? "rsa" : "elliptic", static_cast<int>(deepest));
        std::printf("%s: %zu bytes of stack\n", kind == key_kind::rsa ? "RSA" : "elliptic", deepest);
        EXPECT_GT(deepest, 4096U);
        EXPECT_LT(deepest, 64U * 1024);
    }
}

}  // namespace
}  // namespace weft::test
