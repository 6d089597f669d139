// endpoint_test.cc: addresses as text, and as the system writes them.

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/net/endpoint.h>

#include "net/socket_address.h"
#include "support/random.h"

namespace weft::net {
namespace {

TEST(Endpoint, ParseAndToStringRoundTrip) {
    for (const char* text : {"127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:443", "[2001:db8::1]:1",
                             "[fe80::1%7]:80", "[::]:0"}) {
        const auto parsed = endpoint::parse(text);
        ASSERT_TRUE(parsed) << text;
        EXPECT_EQ(parsed->to_string(), text);
        EXPECT_EQ(detail::socket_address(*parsed).to_endpoint(), parsed) << text;
    }
}

TEST(Endpoint, WithoutAnAddressItIsTheWildcard) {
    const endpoint all(":8080");
    EXPECT_TRUE(all.is_any());
    EXPECT_EQ(all.port(), 8080);
    EXPECT_EQ(all.version(), endpoint::ip::v6);
    EXPECT_FALSE(endpoint::loopback(1).is_any());
    EXPECT_EQ(endpoint::loopback(1).to_string(), "127.0.0.1:1");
    EXPECT_EQ(endpoint::loopback_v6(1).to_string(), "[::1]:1");
    EXPECT_EQ(endpoint::loopback(1).with_port(2).port(), 2);
}

TEST(Endpoint, TheScopeMayBeAnInterfacesName) {
#if defined(_WIN32)
    GTEST_SKIP() << "this system has no interface of that name";
#endif
    const auto parsed = endpoint::parse("[fe80::1%lo]:80");
    ASSERT_TRUE(parsed);
    EXPECT_NE(parsed->scope(), 0U);
}

TEST(Endpoint, InvalidTextsAreRefused) {
    using namespace std::string_literals;
    std::string far_too_long(1000, '1');
    far_too_long += ":80";
    for (const std::string& text :
         {""s, "80"s, "127.0.0.1"s, "127.0.0.1:"s, "127.0.0.1:65536"s, "127.0.0.1:-1"s, "127.0.0.1:8 0"s, "127.0.0:80"s,
          "1.2.3.4.5:80"s, "localhost:80"s, "::1:80"s, "[::1]"s, "[::1:80"s, "[]:80"s, "[::g]:80"s, "[fe80::1%]:80"s,
          "[fe80::1%nosuchinterface0]:80"s, "127.0.0.1\0:80"s, far_too_long}) {
        EXPECT_FALSE(endpoint::parse(text)) << text.substr(0, 40);
        EXPECT_THROW(endpoint{text}, std::invalid_argument);
    }
    try {
        const endpoint none("localhost:80");
        FAIL() << none.to_string();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("\"localhost:80\""), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("127.0.0.1:80"), std::string::npos) << "says what to write: " << e.what();
    }
}

TEST(Endpoint, TheErrorForATextWithAZeroByteIsComplete) {
    using namespace std::string_view_literals;
    try {
        static_cast<void>(endpoint("1.2.3.4\0:80"sv));
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string_view(e.what()).find("\"1.2.3.4\\0:80\" is not an address with a port"),
                  std::string_view::npos)
            << e.what();
    }
}

// Changes valid texts at random.
TEST(Endpoint, EveryParsedTextRoundTrips) {
    constexpr std::array<std::string_view, 8> from{
        "127.0.0.1:80", "[::1]:443",           "[2001:db8::1]:1",         "[fe80::1%7]:80",
        ":8080",        "[::ffff:10.1.2.3]:5", "[1:2:3:4:5:6:7:8]:65535", "0.0.0.0:0"};
    constexpr std::string_view some("0123456789abcdefABCDEF:.[]%x- \0\xff", 32);
    test::prng random(test::announced_seed());
    const auto index = [&](std::size_t size) { return static_cast<std::size_t>(random.below(static_cast<int>(size))); };
    int understood = 0;
    for (int i = 0; i < 50'000; ++i) {
        std::string text(from[index(from.size())]);
        for (int change = random.below(4); change != 0; --change) {
            const std::size_t at = index(text.size() + 1);
            const char c = some[index(some.size())];
            if (at == text.size() || random.below(3) == 0) {
                text.insert(at, 1, c);
            } else if (random.below(2) == 0) {
                text.erase(at, 1);
            } else {
                text[at] = c;
            }
        }
        const auto parsed = endpoint::parse(text);
        if (!parsed) continue;
        ++understood;
        EXPECT_EQ(endpoint::parse(parsed->to_string()), parsed) << text;
        EXPECT_EQ(text.find('\0'), std::string::npos) << text.substr(0, text.find('\0'));
    }
    EXPECT_GT(understood, 10'000);
}

TEST(Endpoint, ADualStackSocketReportsAnIPv4PeerAsIPv4) {
    const std::array<uint8_t, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3};
    EXPECT_EQ(detail::socket_address(endpoint(mapped, 5)).to_endpoint(), endpoint("10.1.2.3:5"));
    EXPECT_FALSE(detail::socket_address().to_endpoint());
}

}  // namespace
}  // namespace weft::net
