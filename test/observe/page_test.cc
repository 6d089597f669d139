// page_test.cc: what the page answers, and what clients cannot do to it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/observe/page.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::endpoint;
using net::tcp_stream;
using observe::page;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The packets of a recording for Perfetto, which are one compressed packet each 256 KiB.
std::string unpacked(std::string_view recording) {
    constexpr uint32_t compressed_packets = 50;
    std::string all;
    protozero::pbf_reader trace(recording.data(), recording.size());
    while (trace.next(1)) {
        protozero::pbf_reader packet = trace.get_message();
        while (packet.next(compressed_packets)) {
            const protozero::data_view bytes = packet.get_view();
            std::string part(std::size_t{1} << 20, '\0');
            uLongf size = part.size();
            EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(part.data()), &size,
                                   reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
                      Z_OK);
            all += part.substr(0, size);
        }
    }
    return all;
}

constexpr const char* token = "0123456789abcdef";
constexpr std::chrono::milliseconds short_timeout = 50ms;

tcp_stream connect(const page& p) {
    tcp_stream s = tcp_stream::connect(endpoint::loopback(p.port()));
    s.set_read_deadline(std::chrono::steady_clock::now() + patience());
    return s;
}

std::string read_to_end(tcp_stream& s) {
    std::string all;
    char piece[4096];
    std::error_code ec;
    while (const std::size_t n = s.read_some(piece, ec)) all.append(piece, n);
    EXPECT_FALSE(ec == std::errc::timed_out) << "the page neither answers nor ends the connection";
    return all;
}

// Sends these bytes, and returns all that comes until the page ends the connection.
std::string ask_raw(const page& p, std::string_view bytes) {
    tcp_stream s = connect(p);
    std::error_code ec;
    s.write_all(bytes, ec);
    return read_to_end(s);
}

std::string ask(const page& p, const std::string& target, const std::string& fields = "", const char* method = "GET") {
    return ask_raw(p, std::string(method) + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                          fields + "\r\n");
}

std::string with_token(const std::string& target) {
    return target + (target.find('?') == std::string::npos ? "?" : "&") + "token=" + token;
}

int status_of(const std::string& answer) { return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0; }

std::string body_of(const std::string& answer) {
    const std::size_t at = answer.find("\r\n\r\n");
    return at == std::string::npos ? "" : answer.substr(at + 4);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Page : ::testing::Test {
    runtime shown{{.procs = 2, .name = "shown"}};

    static observe::page_options usual() { return {.token = token}; }
};

TEST_F(Page, HasAnAddressWithARandomToken) {
    const page a(shown);
    const page b(shown);
    const std::string begin = "http://127.0.0.1:" + std::to_string(a.port()) + "/?token=";
    ASSERT_TRUE(a.url().starts_with(begin)) << a.url();
    EXPECT_EQ(a.url().size(), begin.size() + 32);
    EXPECT_NE(a.url().substr(begin.size()), b.url().substr(begin.size()));
    EXPECT_EQ(status_of(ask(a, a.url().substr(a.url().find("/?")))), 200);
}

TEST_F(Page, AnswersEachTarget) {
    const page p(shown, usual());
    EXPECT_TRUE(has(ask(p, with_token("/")), "<title>weft</title>"));
    EXPECT_TRUE(body_of(ask(p, with_token("/metrics"))).ends_with("# EOF\n"));
    EXPECT_TRUE(body_of(ask(p, with_token("/api/state"))).starts_with("{\"format\":\"weft.state/1\","));
    EXPECT_TRUE(body_of(ask(p, with_token("/stacks"))).starts_with("weft: runtime \"shown\", 2 Ps"));
    EXPECT_TRUE(body_of(ask(p, with_token("/stacks?form=json"))).starts_with("{\"format\":\"weft.dump/1\""));
    EXPECT_EQ(status_of(ask(p, with_token("/stacks?form=folded"))), 200);
    EXPECT_EQ(status_of(ask(p, with_token("/stacks?form=other"))), 400);
    EXPECT_EQ(status_of(ask(p, with_token("/other"))), 404);
    EXPECT_EQ(status_of(ask(p, with_token("/recording"))), 403);
    EXPECT_EQ(status_of(ask(p, with_token("/debug/pprof/goroutineleak"))), 403);
    observe::page_options options = usual();
    options.allow_recording = true;
    const page also_records(shown, options);
    EXPECT_TRUE(has(body_of(ask(also_records, with_token("/debug/pprof/goroutineleak"))), "goroutineleak"));
    EXPECT_TRUE(body_of(ask(also_records, with_token("/debug/pprof/goroutineleak?debug=1"))).starts_with("weft: "));
}

TEST_F(Page, NeedsTheToken) {
    const page p(shown, usual());
    for (const char* target :
         {"/api/state", "/stacks", "/recording", "/other", "/stacks?token=", "/stacks?token=0123456789abcdeg",
          "/stacks?token=0123456789abcde", "/stacks?tokens=0123456789abcdef"}) {
        const std::string answer = ask(p, target);
        EXPECT_EQ(status_of(answer), 401) << target;
        EXPECT_TRUE(has(answer, "WWW-Authenticate: Bearer realm=\"weft\"\r\n")) << answer;
    }
    EXPECT_EQ(status_of(ask(p, "/stacks?a=b&token=0123456789abcdef")), 200);
    const auto status_with = [&](const std::string& authorization) {
        return status_of(ask(p, "/api/state", "Authorization: " + authorization + "\r\n"));
    };
    for (const char* scheme : {"Bearer ", "bearer ", "BEARER ", "Bearer  "}) {
        EXPECT_EQ(status_with(std::string(scheme) + token), 200) << scheme;
    }
    for (const char* scheme : {"", "Bearer", "Basic ", "Bearer x"}) {
        EXPECT_EQ(status_with(std::string(scheme) + token), 401) << scheme;
    }
    EXPECT_EQ(status_with("Bearer"), 401);
    EXPECT_EQ(status_with("Bearer "), 401);
}

// A reload has no token, because the script takes it out of the address bar.
TEST_F(Page, GivesThePageItselfWithoutAToken) {
    const page p(shown, usual());
    for (const std::string& target : {std::string("/"), with_token("/")}) {
        const std::string answer = ask(p, target);
        EXPECT_EQ(status_of(answer), 200) << target;
        EXPECT_FALSE(has(answer, "Set-Cookie")) << answer;
        EXPECT_FALSE(has(answer, token)) << answer;
    }
}

TEST_F(Page, GivesMetricsWithoutATokenOnlyUnderAnAddressOfItsOwn) {
    const page p(shown, usual());
    const auto status_with_host = [&](const std::string& host) {
        return status_of(ask_raw(p, "GET /metrics HTTP/1.1\r\nConnection: close\r\nHost: " + host + "\r\n\r\n"));
    };
    for (const char* host : {"localhost", "localhost:8090", "127.0.0.1", "127.0.0.1:8090", "[::1]:8090"}) {
        EXPECT_EQ(status_with_host(host), 200) << host;
    }
    for (const char* host :
         {"", "other.example", "other.example:8090", "localhost.example", ":80", "127.0.0.1.example"}) {
        EXPECT_EQ(status_with_host(host), 401) << host;
    }
}

TEST_F(Page, ForbidsScriptsThatAreNotItsOwn) {
    const page p(shown, usual());
    const std::string answer = ask(p, with_token("/"));
    const std::size_t at = answer.find("script-src 'nonce-");
    ASSERT_NE(at, std::string::npos);
    EXPECT_TRUE(has(body_of(answer), "<script nonce=\"" + answer.substr(at + 18, 32) + "\">"));
    EXPECT_FALSE(has(body_of(answer), "@NONCE@"));
    EXPECT_TRUE(has(answer, "default-src 'none'"));
    EXPECT_FALSE(has(body_of(answer), "src=\""));
}

TEST_F(Page, RefusesWhatIsNoRequestForIt) {
    const page p(shown, usual());
    EXPECT_EQ(status_of(ask(p, with_token("/"), "", "POST")), 405);
    EXPECT_EQ(status_of(ask(p, with_token("/"), "", "DELETE")), 405);
    EXPECT_EQ(status_of(ask_raw(p, "hello\r\n\r\n")), 400);
    EXPECT_EQ(status_of(ask_raw(p, std::string("\0\xff\x16\x03\x01\r\n\r\n", 9))), 400);
    EXPECT_EQ(status_of(ask_raw(p, "GET / HTTP/3.0\r\n\r\n")), 505);
    EXPECT_EQ(status_of(ask(p, with_token("/" + std::string(2000, 'a')))), 414);
    EXPECT_EQ(status_of(ask(p, with_token("/"), "A: " + std::string(9000, 'a') + "\r\n")), 431);
    EXPECT_EQ(status_of(ask_raw(p, "GET /" + std::string(100'000, 'a'))), 431);
    EXPECT_EQ(status_of(ask(p, with_token("/"), "Content-Length: 100\r\n", "GET")), 413);
    EXPECT_EQ(status_of(ask(p, with_token("/"))), 200);
}

TEST_F(Page, AnswersHeadWithoutABody) {
    const page p(shown, usual());
    const std::string answer = ask(p, with_token("/"), "", "HEAD");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "");
    EXPECT_FALSE(has(answer, "Content-Length: 0\r\n"));
}

TEST_F(Page, AnswersSeveralRequestsOfOneConnection) {
    const page p(shown, usual());
    const std::string one = "GET " + with_token("/nothing") + " HTTP/1.1\r\nHost: localhost\r\n";
    const std::string answers = ask_raw(p, one + "\r\n" + one + "Connection: close\r\n\r\n");
    const std::size_t second = answers.find("HTTP/1.1 404", 1);
    EXPECT_TRUE(answers.starts_with("HTTP/1.1 404"));
    EXPECT_NE(second, std::string::npos);
}

TEST_F(Page, EndsARequestThatDoesNotArrive) {
    observe::page_options options = usual();
    options.request_timeout = short_timeout;
    const page p(shown, options);
    EXPECT_EQ(status_of(ask_raw(p, "GET / HT")), 408);
    EXPECT_EQ(status_of(ask_raw(p, "GET / HTTP/1.1\r\nHost: localhost\r\n")), 408);
    EXPECT_EQ(ask_raw(p, ""), "");  // one that sends nothing is idle
}

TEST_F(Page, RefusesConnectionsBeyondItsLimit) {
    observe::page_options options = usual();
    options.connections_max = 2;
    const page p(shown, options);
    const std::string asked = "GET " + with_token("/other") + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::vector<tcp_stream> held;
    for (int i = 0; i < 2; ++i) {
        held.push_back(connect(p));
        held.back().write_all(asked);
        char first = 0;
        ASSERT_EQ(held.back().read(net::mutable_buffer(&first, 1)), 1U);  // it is being served
    }
    EXPECT_EQ(status_of(ask(p, with_token("/"))), 503);
    held.clear();
    eventually([&] { return status_of(ask(p, with_token("/"))) == 200; });
}

TEST_F(Page, SurvivesBytesOfAllKinds) {
    observe::page_options options = usual();
    options.request_timeout = short_timeout;
    const page p(shown, options);
    std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same each time
    const std::string whole =
        "GET " + with_token("/metrics") + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (int i = 0; i < 100; ++i) {
        std::string bytes = whole;
        for (int changes = 0; changes < 4; ++changes) bytes[random() % bytes.size()] = static_cast<char>(random());
        tcp_stream s = connect(p);
        std::error_code ec;  // such as a connection that was refused because there are too many
        s.write_all(bytes, ec);
        s.close();
    }
    eventually([&] { return status_of(ask(p, with_token("/"))) == 200; });
}

TEST_F(Page, SurvivesConnectionsThatAreReset) {
    const page p(shown, usual());
    for (int i = 0; i < 100; ++i) {
        tcp_stream s = connect(p);
        std::error_code ec;
        if (i % 2 == 0) s.write_all("GET " + with_token("/") + " HTTP/1.1\r\nHost: localhost\r\n\r\n", ec);
        const linger reset{1, 0};
        ASSERT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        s.close();
    }
    eventually([&] { return status_of(ask(p, with_token("/"))) == 200; });
}

TEST_F(Page, AnswersWhileAllPsCompute) {
    std::atomic<bool> over = false;
    std::atomic<int> begun = 0;
    for (int i = 0; i < 2; ++i) {
        shown.go({.name = "computes"}, [&] {
            ++begun;
            while (!over) continue;
        });
    }
    eventually([&] { return begun == 2; });
    const page p(shown, usual());
    const std::string state = ask(p, with_token("/api/state"));
    EXPECT_EQ(status_of(state), 200);
    EXPECT_TRUE(has(state, "\"index\":1,\"idle\":false")) << state;
    EXPECT_TRUE(has(state, "\"runs\":{\"id\":1,\"name\":\"computes\"")) << state;
    EXPECT_TRUE(has(state, "\"runs\":{\"id\":2,\"name\":\"computes\"")) << state;
    EXPECT_TRUE(has(ask(p, with_token("/stacks")), "green thread 2 \"computes\" [running"));
    over = true;
    shown.drain();
}

TEST_F(Page, ShowsGroupsOfGreenThreads) {
    const chan<int> never;
    for (int i = 0; i < 5; ++i) {
        shown.go({.name = "server", .labels = {{"tenant", "\"acme\""}}}, [never] { never.recv(); });
    }
    for (int i = 0; i < 3; ++i) {
        shown.go({.name = "n" + std::to_string(i)}, [] { sleep_for(1h); });
    }
    std::latch over(1);
    shown.go([&over] { blocking([&over] { over.wait(); }); });
    eventually([&] { return shown.stats().waiting == 8 && shown.stats().in_call == 1; });
    const page p(shown, usual());
    const std::string state = ask(p, with_token("/api/state"));
    EXPECT_TRUE(has(state, "\"states\":[[\"chan receive\",5],[\"sleep\",3],[\"in call\",1]]")) << state;
    EXPECT_TRUE(has(state, "\"name\":\"server\",\"count\":5,\"oldest_ns\":")) << state;
    EXPECT_TRUE(has(state, "\"count\":3,\"oldest_ns\":")) << state;  // they have different names
    EXPECT_FALSE(has(state, "\"name\":\"n0\"")) << state;
    EXPECT_TRUE(has(
        state, R"("labels":[{"text":"tenant=\"acme\"","count":5}],"labels_left_out":0,"labels_are_estimates":false,)"))
        << state;
    // The channel; a sleep has no object.
    EXPECT_TRUE(has(state, "\"objects\":[{\"address\":\"0x")) << state;
    EXPECT_TRUE(has(state, R"(","reason":"chan receive","count":5,)")) << state;
    EXPECT_TRUE(has(state, "page_test.cc")) << state;
    EXPECT_TRUE(has(state, "\"in_call\":true")) << state;
    EXPECT_TRUE(has(state, "\"stacks\":{\"bound\":9,\"measured\":8,")) << state;
    over.count_down();
    eventually([&] { return shown.stats().in_call == 0; });
    never.close();
}

TEST_F(Page, EstimatesTheNumbersOfManyLabels) {
    const chan<int> never;
    constexpr int many = 3000;  // each has a set of its own
    for (int i = 0; i < many; ++i) shown.go({.labels = {{"kind", "many"}}}, [never] { never.recv(); });
    for (int i = 0; i < 3; ++i) shown.go({.labels = {{"kind", "few"}}}, [never] { never.recv(); });
    eventually([&] { return shown.stats().waiting == many + 3; });
    const page p(shown, usual());
    const std::string state = ask(p, with_token("/api/state"));
    EXPECT_TRUE(has(state, R"("labels":[{"text":"kind=many","count":3000},{"text":"kind=few","count":3}],)")) << state;
    EXPECT_TRUE(has(state, R"("labels_are_estimates":true)")) << state;
    // Each second one was read, and counts for two.
    EXPECT_TRUE(has(state, R"("objects_are_estimates":true})")) << state;
    never.close();
    shown.drain();
}

TEST_F(Page, ListsObjectsWithTheMostWaiters) {
    const page p(shown, usual());
    const chan<int> crowded;
    const chan<int> alone;
    mutex m;
    m.lock();
    for (int i = 0; i < 5; ++i) shown.go([crowded] { crowded.recv(); });
    for (int i = 0; i < 2; ++i) shown.go([&m] { const std::lock_guard held(m); });
    shown.go([alone, crowded] { static_cast<void>(select(recv_case(alone), recv_case(crowded))); });
    eventually([&] { return shown.stats().waiting == 8; });
    const std::string state = body_of(ask(p, with_token("/api/state")));
    const std::size_t first = state.find(R"("reason":"chan receive","count":6,)");
    const std::size_t second = state.find(R"("reason":"mutex lock","count":2,)");
    EXPECT_NE(first, std::string::npos) << state;
    EXPECT_NE(second, std::string::npos) << state;
    EXPECT_LT(first, second);
    EXPECT_TRUE(has(state, R"("objects_are_estimates":false)")) << state;
    crowded.close();
    alone.close();
    m.unlock();
    shown.drain();
}

TEST_F(Page, EstimatesTheWaitersOfManyGreenThreads) {
    const page p(shown, usual());
    const chan<int> crowded;
    for (int i = 0; i < 5000; ++i) shown.go([crowded] { crowded.recv(); });
    eventually([&] { return shown.stats().waiting == 5000; });
    const std::string state = body_of(ask(p, with_token("/api/state")));
    EXPECT_TRUE(has(state, R"("reason":"chan receive","count":5000,)")) << state;  // each fifth was read
    EXPECT_TRUE(has(state, R"("objects_are_estimates":true)")) << state;
    crowded.close();
    shown.drain();
}

TEST_F(Page, MakesARecordingIfAllowed) {
    observe::page_options options = usual();
    options.allow_recording = true;
    const page p(shown, options);
    for (const char* seconds : {"0", "61", "-1", "1x", "100"}) {
        EXPECT_EQ(status_of(ask(p, with_token(std::string("/recording?seconds=") + seconds))), 400) << seconds;
    }
    shown.go({.name = "works"}, [] {
        for (int i = 0; i < 100; ++i) sleep_for(10ms);
    });
    const std::string answer = ask(p, with_token("/recording?seconds=1"));
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_TRUE(has(answer, "Content-Disposition: attachment; filename="));
    EXPECT_TRUE(has(unpacked(body_of(answer)), "works"));
}

TEST_F(Page, HasProfilesUnderTheNamesThatGoUses) {
    observe::page_options options = usual();
    options.allow_recording = true;
    const page p(shown, options);
    const chan<int> never;
    shown.go({.name = "sleeper"}, [never] { never.recv(); });
    shown.go({.name = "ticker"}, [] {
        for (int i = 0; i < 200; ++i) sleep_for(10ms);
    });
    eventually([&] { return shown.stats().waiting == 2; });
    EXPECT_TRUE(has(body_of(ask(p, with_token("/debug/pprof/"))), "goroutine"));
    const std::string stacks = ask(p, with_token("/debug/pprof/goroutine"));
    EXPECT_EQ(status_of(stacks), 200);
    EXPECT_TRUE(has(stacks, "filename=\"observe_tests.goroutine.pb\""));
    EXPECT_TRUE(has(body_of(stacks), "sleeper"));
    EXPECT_TRUE(has(body_of(stacks), "chan receive"));
    const std::string waits = ask(p, with_token("/debug/pprof/block?seconds=1"));
    EXPECT_EQ(status_of(waits), 200);
    EXPECT_TRUE(has(body_of(waits), "ticker"));
    EXPECT_FALSE(has(body_of(waits), "sleeper"));  // it still waits
    EXPECT_TRUE(has(body_of(ask(p, with_token("/debug/pprof/sched?seconds=1"))), "ticker"));
    if (!built_with_tsan) {
        EXPECT_TRUE(has(body_of(ask(p, with_token("/debug/pprof/profile?seconds=1"))), "nanoseconds"));
    }
    EXPECT_EQ(status_of(ask(p, with_token("/debug/pprof/profile?seconds=0"))), 400);
    EXPECT_EQ(status_of(ask(p, with_token("/debug/pprof/unknown"))), 404);
    EXPECT_EQ(status_of(ask(p, "/debug/pprof/goroutine")), 401);
    options.allow_recording = false;
    const page reads_only(shown, options);
    EXPECT_EQ(status_of(ask(reads_only, with_token("/debug/pprof/goroutine"))), 200);
    for (const char* kind : {"profile", "sched", "block"}) {
        EXPECT_EQ(status_of(ask(reads_only, with_token(std::string("/debug/pprof/") + kind + "?seconds=1"))), 403);
    }
    never.close();
    shown.drain();
}

TEST_F(Page, AnswersHeadOfARecordingWithoutMakingOne) {
    observe::page_options options = usual();
    options.allow_recording = true;
    const page p(shown, options);
    const auto begin = std::chrono::steady_clock::now();
    const std::string answer = ask(p, with_token("/recording?seconds=60"), "", "HEAD");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_FALSE(has(answer, "Content-Length")) << answer;
}

TEST_F(Page, GivesARecordingANameWithoutSpecialCharacters) {
    observe::page_options options = usual();
    options.allow_recording = true;
    const page p(shown, options);
    char odd[] = "a\"b\r\nC: d/1.x_y-z";
    char* const before = std::exchange(program_invocation_short_name, odd);
    const std::string answer = ask(p, with_token("/recording"), "", "HEAD");
    program_invocation_short_name = before;
    EXPECT_TRUE(has(answer, "Content-Disposition: attachment; filename=\"a_b__C__d_1.x_y-z.pftrace\"\r\n")) << answer;
}

// Many green threads, so that a dump takes longer than a slice.
TEST_F(Page, MakesOneDumpAtATime) {
    const chan<int> never;
    constexpr std::size_t many = 20'000;
    for (std::size_t i = 0; i < many; ++i) shown.go([never] { never.recv(); });
    eventually([&] { return shown.stats().waiting == many; });
    const page p(shown, usual());
    std::atomic<int> refused = 0;
    std::atomic<int> answered = 0;
    constexpr int count = 4;
    std::vector<std::thread> clients;
    clients.reserve(count);
    for (int i = 0; i < count; ++i) {
        clients.emplace_back([&] {
            eventually([&] {
                const int status = status_of(ask(p, with_token("/stacks")));
                EXPECT_TRUE(status == 200 || status == 503) << status;
                ++(status == 200 ? answered : refused);
                return answered != 0 && refused != 0;
            });
        });
    }
    for (std::thread& client : clients) client.join();
    never.close();
    shown.drain();
}

TEST_F(Page, OutlivesTheRuntime) {
    const page p(shown, usual());
    EXPECT_EQ(status_of(ask(p, with_token("/api/state"))), 200);
    shown.abandon();
    for (const char* target : {"/api/state", "/metrics", "/stacks"}) {
        EXPECT_EQ(status_of(ask(p, with_token(target))), 410) << target;
    }
    EXPECT_EQ(status_of(ask(p, with_token("/"))), 200);
    EXPECT_THROW(const page late(shown), std::logic_error);
    shown.start();
    const std::string answer = ask(p, with_token("/api/state"));
    EXPECT_EQ(status_of(answer), 410);
    EXPECT_TRUE(has(answer, "make a new page")) << answer;
    const page again(shown, usual());
    EXPECT_EQ(status_of(ask(again, with_token("/api/state"))), 200);
}

TEST_F(Page, ReadsARuntimeThatIsBeingStopped) {
    for (int i = 0; i < 20; ++i) {
        runtime ends({.procs = 1});
        const page p(ends, usual());
        for (int k = 0; k < 50; ++k) {
            ends.go({.labels = {{"number", std::to_string(k)}}}, [] { sleep_for(1h); });
        }
        std::atomic<bool> over = false;
        std::thread client([&] {
            for (bool more = true; more;) {
                more = !over;
                const int status = status_of(ask(p, with_token("/api/state")));
                EXPECT_TRUE(status == 200 || status == 410) << status;
            }
        });
        ends.shutdown(10s);
        over = true;
        client.join();
    }
}

TEST_F(Page, EndsWithClientsThatSayNothing) {
    observe::page_options options = usual();
    options.allow_recording = true;
    auto p = std::make_unique<page>(shown, options);
    tcp_stream waits = connect(*p);
    waits.write_all("GET " + with_token("/recording?seconds=60") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    tcp_stream silent = connect(*p);
    tcp_stream half = connect(*p);
    half.write_all(std::string_view("GET / HT"));
    tcp_stream does_not_read = connect(*p);
    for (int i = 0; i < 50; ++i) {
        std::error_code ec;
        does_not_read.set_write_deadline(std::chrono::steady_clock::now() + short_timeout);
        does_not_read.write_all("GET " + with_token("/") + " HTTP/1.1\r\nHost: localhost\r\n\r\n", ec);
    }
    p.reset();
    EXPECT_EQ(read_to_end(silent), "");
}

// A read or write that need not wait does not see that it is cancelled, and here none waits.
TEST_F(Page, EndsWithAClientThatAsksWithoutEnd) {
    auto p = std::make_unique<page>(shown, usual());
    std::string asked;
    for (int i = 0; i < 50; ++i) asked += "GET " + with_token("/other") + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    tcp_stream s = connect(*p);
    std::atomic<bool> has_begun = false;
    std::thread asks([&] {
        std::error_code ec;
        while (!ec) s.write_all(asked, ec);
    });
    std::thread reads([&] {
        std::error_code ec;
        char piece[65536];
        while (s.read_some(piece, ec) != 0) has_begun = true;
        s.close();
    });
    eventually([&] { return has_begun.load(); });
    p.reset();
    asks.join();
    reads.join();
}

// A dump does not see that it is cancelled, either.
TEST_F(Page, EndsWhileDumpsAreMade) {
    const chan<int> never;
    constexpr std::size_t many = 10'000;
    for (std::size_t i = 0; i < many; ++i) shown.go([never] { never.recv(); });
    eventually([&] { return shown.stats().waiting == many; });
    auto p = std::make_unique<page>(shown, usual());
    std::vector<tcp_stream> clients;
    for (int i = 0; i < 8; ++i) {
        clients.push_back(connect(*p));
        for (int k = 0; k < 10; ++k) {
            clients.back().write_all("GET " + with_token("/stacks") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
    }
    char first = 0;
    EXPECT_EQ(clients[0].read(net::mutable_buffer(&first, 1)), 1U);
    p.reset();
    for (tcp_stream& client : clients) read_to_end(client);
    never.close();
    shown.drain();
}

TEST_F(Page, FreesItsPortAlthoughAChildHasTheSocket) {
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    auto p = std::make_unique<page>(shown, usual());
    const uint16_t port = p->port();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::close(gate[1]);
        char end = 0;
        static_cast<void>(!::read(gate[0], &end, 1));
        ::_exit(0);
    }
    ::close(gate[0]);
    p.reset();
    observe::page_options options = usual();
    options.port = port;
    try {
        const page again(shown, options);
        EXPECT_EQ(status_of(ask(again, with_token("/api/state"))), 200);
    } catch (const std::system_error& e) {
        ADD_FAILURE() << e.what();
    }
    ::close(gate[1]);
    while (::waitpid(child, nullptr, 0) < 0) {}
}

TEST_F(Page, ServesTheParentAfterAChildHasDestroyedIt) {
    auto p = std::make_unique<page>(shown, usual());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        p.reset();
        ::_exit(0);
    }
    int status = -1;
    while (::waitpid(child, &status, 0) < 0) {}
    EXPECT_EQ(status, 0);
    EXPECT_EQ(status_of(ask(*p, with_token("/api/state"))), 200);
}

TEST_F(Page, ShowsTheDefaultRuntimeOrTheCallers) {
    const std::string of_caller = shown.run([] {
        const page p(usual());
        return body_of(ask(p, with_token("/stacks")));
    });
    EXPECT_TRUE(of_caller.starts_with("weft: runtime \"shown\"")) << of_caller;
    const page p(usual());
    EXPECT_TRUE(body_of(ask(p, with_token("/stacks"))).starts_with("weft: runtime \"weft\""));
}

TEST_F(Page, RefusesOptionsThatCannotBe) {
    const auto make = [&](const observe::page_options& options) { const page p(shown, options); };
    EXPECT_THROW(make({.address = "0.0.0.0"}), std::invalid_argument);
    EXPECT_THROW(make({.address = "::"}), std::invalid_argument);
    EXPECT_THROW(make({.address = "localhost"}), std::invalid_argument);
    EXPECT_THROW(make({.address = ""}), std::invalid_argument);
    EXPECT_THROW(make({.token = "short"}), std::invalid_argument);
    EXPECT_THROW(make({.token = "0123456789abcde/"}), std::invalid_argument);
    EXPECT_THROW(make({.connections_max = 0}), std::invalid_argument);
    EXPECT_THROW(make({.request_timeout = 0ms}), std::invalid_argument);
    const page first(shown);
    EXPECT_THROW(make({.port = first.port()}), std::system_error);
}

TEST_F(Page, ListensOnlyOnItsAddress) {
    const page p(shown, {.address = "127.0.0.2"});
    EXPECT_TRUE(has(p.url(), "//127.0.0.2:" + std::to_string(p.port()) + "/")) << p.url();
    const tcp_stream s = tcp_stream::connect(endpoint("127.0.0.2:" + std::to_string(p.port())));
    EXPECT_EQ(s.remote_endpoint().to_string(), "127.0.0.2:" + std::to_string(p.port()));
}

// For observe/openmetrics_check.py, which parses what it writes.
TEST_F(Page, WritesFilesForOtherPrograms) {
    const temp_folder folder;
    const char* to = std::getenv("WEFT_TEST_PAGE");
    const std::string base = to != nullptr ? to : folder / "page";
    const chan<int> never;
    shown.go({.name = "\xff\"<b>\\", .labels = {{"k\n", "\x01\xc3"}}}, [never] { never.recv(); });
    eventually([&] { return shown.stats().waiting == 1; });
    const page p(shown, usual());
    const auto save = [&](const char* name, const std::string& target) {
        const std::string body = body_of(ask(p, with_token(target)));
        EXPECT_FALSE(body.empty());
        std::ofstream(base + name, std::ios::binary) << body;
    };
    save(".metrics", "/metrics");
    save(".state.json", "/api/state");
    save(".stacks.json", "/stacks?form=json");
    never.close();
}

// Another process connects after the runtime has searched several times.
pid_t connects_later(const net::tcp_listener& listener) {
    const uint16_t port = listener.local_endpoint().port();
    const pid_t other = ::fork();
    if (other != 0) return other;
    std::this_thread::sleep_for(300ms);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ::_exit(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : 1);
}

// Programs with a page, each in a process of its own. Not with ThreadSanitizer, whose own thread
// might wake a green thread.
struct DeadlockWithAPage : ::testing::Test {
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (built_with_tsan) GTEST_SKIP() << "the sanitizer's own thread might wake a green thread";
    }
};

TEST_F(DeadlockWithAPage, IsReported) {
    const auto program = [] {
        std::_Exit(weft::main([] {
            const page p;
            EXPECT_EQ(status_of(ask(p, "/")), 200);
            const tcp_stream silent = connect(p);  // the page waits for a request, with a deadline
            chan<int>().recv();
        }));
    };
    EXPECT_EXIT(program(), ::testing::ExitedWithCode(deadlock_exit_code),
                AllOf(HasSubstr("weft: fatal: all green threads are asleep: deadlock\n"
                                "weft: 1 of runtime \"weft\" wait, and no timer and no other thread can wake one:\n"
                                "weft:     green thread 1 \"main\": chan receive at "),
                      Not(HasSubstr("weft-page"))));
}

TEST_F(DeadlockWithAPage, IsNotReportedWhileTheProgramWaitsForASocket) {
    const auto program = [] {
        std::_Exit(weft::main([] {
            const page p;
            net::tcp_listener listener(endpoint::loopback(0));
            const pid_t other = connects_later(listener);
            static_cast<void>(listener.accept());
            ::waitpid(other, nullptr, 0);
        }));
    };
    EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "^$");
}

// A green thread of the program then waits for one of the page.
TEST_F(DeadlockWithAPage, IsNotReportedWhileAPageBeginsAndEnds) {
    const auto program = [] {
        std::_Exit(weft::main([] {
            for (int i = 0; i < 20; ++i) const page p;
        }));
    };
    EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace weft::test
