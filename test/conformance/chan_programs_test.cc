// chan_programs_test.cc: small complete programs made of channels: relay, ring, prime sieve, power
// series.

#include <atomic>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using ChanPrograms = procs_test;
WEFT_SWEEP(ChanPrograms);

// Each link adds one to the value from its right, and passes it to its left.
TEST_P(ChanPrograms, ARelayOfTenThousandLinksFinishes) {
    const int links = scaled(10'000);
    const int result = rt().run([links] {
        const chan<int> leftmost;
        chan<int> right = leftmost;
        for (int i = 0; i < links; ++i) {
            const chan<int> left = right;
            right = chan<int>();
            go([left, right] { left.send(1 + right.recv().value_or(0)); });
        }
        right.send(0);
        return leftmost.recv().value_or(-1);
    });
    EXPECT_EQ(result, links);
}

TEST_P(ChanPrograms, ATokenGoesRoundARing) {
    constexpr std::size_t members = 503;
    const int rounds = scaled(200);
    const int passed = rt().run([rounds] {
        const std::vector<chan<int>> seats(members);
        wait_group all;
        for (std::size_t i = 1; i < members; ++i) {
            all.go([from = seats[i], to = seats[(i + 1) % members]] {
                for (const int token : from) to.send(token + 1);
                to.close();
            });
        }
        int token = 0;
        for (int r = 0; r < rounds; ++r) {
            seats[1].send(token + 1);
            token = seats[0].recv().value_or(-1);
        }
        seats[1].close();
        all.wait();
        return token;
    });
    EXPECT_EQ(passed, rounds * static_cast<int>(members));
}

// The natural numbers run through a growing chain of filters, one for each prime found.
std::vector<int> sieve(int primes, std::size_t capacity) {
    std::vector<int> found;
    const chan<int> naturals(capacity);
    wait_group all;
    all.go([naturals] {
        try {
            for (int i = 2;; ++i) naturals.send(i);
        } catch (const channel_closed&) {}
    });
    std::vector<chan<int>> stages = {naturals};
    for (int i = 0; i < primes; ++i) {
        const chan<int> in = stages.back();
        const int prime = in.recv().value_or(-1);
        found.push_back(prime);
        const chan<int> out(capacity);
        all.go([in, out, prime] {
            try {
                for (const int n : in) {
                    if (n % prime != 0) out.send(n);
                }
            } catch (const channel_closed&) {}
        });
        stages.push_back(out);
    }
    for (const chan<int>& stage : stages) stage.close();
    all.wait();
    return found;
}

std::vector<int> primes_by_division(int count) {
    std::vector<int> found;
    for (int n = 2; static_cast<int>(found.size()) < count; ++n) {
        bool prime = true;
        for (const int p : found) prime = prime && n % p != 0;
        if (prime) found.push_back(n);
    }
    return found;
}

TEST_P(ChanPrograms, ThePrimeSieveFindsThePrimes) {
    const int primes = scaled(200);
    const std::vector<int> expected = primes_by_division(primes);
    for (const std::size_t capacity : {0U, 1U, 32U}) {
        EXPECT_EQ(rt().run([=] { return sieve(primes, capacity); }), expected) << "capacity " << capacity;
    }
}

// Power series as channels of coefficients, after M. D. McIlroy, "Squinting at power series". A
// series ends after at most `terms` coefficients. Its channel holds them all, so no operation waits
// for its reader.
struct rational {
    int64_t num = 0;
    int64_t den = 1;

    static rational of(int64_t n, int64_t d) {
        const int64_t common = std::gcd(n, d);
        return {n / common, d / common};
    }

    friend rational operator+(rational a, rational b) {
        const int64_t common = std::lcm(a.den, b.den);
        return of(a.num * (common / a.den) + b.num * (common / b.den), common);
    }

    friend rational operator*(rational a, rational b) {
        const rational crossed = of(a.num, b.den);
        const rational other = of(b.num, a.den);
        return {crossed.num * other.num, crossed.den * other.den};
    }

    friend bool operator==(rational a, rational b) = default;
};

using series = chan<rational>;
constexpr std::size_t terms = 12;

struct two_series {
    series a{terms};
    series b{terms};
};

two_series split(const series& f) {
    const two_series copies;
    go([f, copies] {
        for (const rational c : f) {
            copies.a.send(c);
            copies.b.send(c);
        }
        copies.a.close();
        copies.b.close();
    });
    return copies;
}

series scale_by(rational k, const series& f) {
    const series out(terms);
    go([=] {
        for (const rational c : f) out.send(k * c);
        out.close();
    });
    return out;
}

// The sum, as long as the longer series.
series add(const series& f, const series& g) {
    const series out(terms);
    go([=] {
        for (;;) {
            const auto c = f.recv();
            const auto d = g.recv();
            if (!c && !d) break;
            out.send(c.value_or(rational{}) + d.value_or(rational{}));
        }
        out.close();
    });
    return out;
}

// Copies `from` to `to` until `from` ends, dropping all but the first `room` coefficients.
void copy(const series& from, const series& to, std::size_t room) {
    for (const rational c : from) {
        if (room == 0) continue;
        to.send(c);
        --room;
    }
}

// first + x·f.
series shift(rational first, const series& f) {
    const series out(terms);
    go([=] {
        out.send(first);
        copy(f, out, terms - 1);
        out.close();
    });
    return out;
}

// The integral of f from 0, divided by x.
series integrate(const series& f) {
    const series out(terms);
    go([=] {
        int64_t n = 0;
        for (const rational c : f) out.send(c * rational{1, ++n});
        out.close();
    });
    return out;
}

// F·G = f0·g0 + x·(f0·G' + g0·F' + x·F'·G') with F = f0 + x·F', G = g0 + x·G': a tree of green
// threads that grows with every term.
series multiply(const series& f, const series& g) {
    const series out(terms);
    go([=] {
        const auto f0 = f.recv();
        const auto g0 = g.recv();
        if (f0 && g0) {
            out.send(*f0 * *g0);
            const two_series fs = split(f);
            const two_series gs = split(g);
            const series cross = add(scale_by(*f0, gs.a), scale_by(*g0, fs.a));
            copy(add(cross, shift(rational{}, multiply(fs.b, gs.b))), out, terms - 1);
        }
        out.close();
    });
    return out;
}

// The series that equals one plus its own integral: its output is fed back to compute it.
series exponential() {
    const series e(terms);
    const two_series copies = split(e);
    const series next = shift(rational{1, 1}, integrate(copies.a));
    go([=] {
        for (std::size_t n = 0; n < terms; ++n) e.send(next.recv().value_or(rational{}));
        e.close();
    });
    return copies.b;
}

TEST_P(ChanPrograms, PowerSeriesComputeExactly) {
    const int wrong = rt().run([] {
        int mistakes = 0;
        rational expected{1, 1};  // exp(x)² = exp(2x): 2ⁿ/n!
        int64_t n = 0;
        for (const rational c : multiply(exponential(), exponential())) {
            mistakes += c != expected;
            expected = expected * rational::of(2, ++n);
        }
        return mistakes + (n != static_cast<int64_t>(terms));
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::test
