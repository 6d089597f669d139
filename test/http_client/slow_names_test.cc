// slow_names_test.cc: name servers that take long. This file defines getaddrinfo() for the whole
// program: libcurl's threads call it, too. The name slow.example has no answer until the test
// permits it.
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/http/client.h>

#include "http_client/served.h"
#include "support/eventually.h"

namespace {

std::atomic<int> asking{0};
std::atomic<int> answered{0};
sem_t may_answer;

}  // namespace

extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* name,
                                                                  const char* service,
                                                                  const addrinfo* hints,
                                                                  addrinfo** result) {
    if (name != nullptr && std::string_view(name) == "slow.example") {
        ++asking;
        while (::sem_wait(&may_answer) != 0) continue;
        ++answered;
        return EAI_NONAME;
    }
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto original = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return original(name, service, hints, result);
}

namespace weft::test {
namespace {

using http::client;
using http::client_errc;

// Permits the answers to all that ask, and waits until their threads have them.
class slow_names {
public:
    slow_names() {
        ::sem_init(&may_answer, 0, 0);
        asking = 0;
        answered = 0;
    }

    ~slow_names() {
        for (int i = 0; i < asking; ++i) ::sem_post(&may_answer);
        eventually([] { return answered == asking; });
    }

    slow_names(const slow_names&) = delete;
    slow_names& operator=(const slow_names&) = delete;
};

using HttpClientNames = client_test;
WEFT_SWEEP_OVER(HttpClientNames, 1U, 4U);

TEST_P(HttpClientNames, AnUnknownNameIsAnErrorOfItsOwn) {
    const slow_names names;
    rt().run([] {
        ::sem_post(&may_answer);
        client c(direct());
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get("http://slow.example/")); }),
                  client_errc::could_not_resolve);
    });
}

TEST_P(HttpClientNames, ASlowNameStopsNoOtherRequest) {
    const slow_names names;
    rt().run([] {
        const web s([](http::server& to) { to.handle("/", [](http::request&, http::response& w) { w.send("x"); }); });
        http::client_options how = direct();
        how.connect_time = 1h;
        client c(how);
        for (int i = 1; i <= 3; ++i) {
            // Interrupted while the name is looked up: the driver must not wait for libcurl's
            // thread.
            scope([&](task_scope& inside) {
                inside.go([&] { static_cast<void>(c.get("http://slow.example:" + std::to_string(i) + "/")); });
                eventually([&] { return asking == i; });
                EXPECT_EQ(c.get(s.url("/")).text(), "x");
                inside.cancel();
            });
            EXPECT_EQ(c.get(s.url("/")).text(), "x");
        }
        how.connect_time = 50ms;
        client hasty(how);
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(hasty.get("http://slow.example/")); }),
                  client_errc::connect_timed_out);
        EXPECT_EQ(hasty.get(s.url("/")).text(), "x");
        EXPECT_EQ(answered, 0);
    });
}

}  // namespace
}  // namespace weft::test
