// 03_prime_sieve.cc: a chain of filters that grows by one green thread for every prime found.
//
// What one learns: green threads are cheap enough to be the unit of design. A generator sends 2, 3, 4 … down a channel.
// The first number that comes out is a prime; a new G is put behind it that drops that prime's multiples and passes the
// rest on. What comes out next is the next prime. There is no shared state and no lock, only values moving.
//
// The chain never ends by itself. When main returns, the hundred Gs that still wait in it are abandoned, as in Go.
// (It is a demonstration of channels, not of sieving: a real sieve is an array.)
//
// After the sieve in Hoare's "Communicating Sequential Processes" (1978), best known from Go's tutorials.
//
// Prints:
//     the first 100 primes:
//        2   3   5   7  11  13  17  19  23  29
//       31  37  41  43  47  53  59  61  67  71
//     and eight such lines more, up to 541
#include <cstdio>

#include <weft/weft.h>

namespace {

constexpr int primes_wanted = 100;
constexpr int primes_per_line = 10;

// 2, 3, 4 … for ever.
void generate(const weft::send_chan<int>& out) {
    for (int n = 2;; ++n) out.send(n);
}

// Passes on what prime does not divide.
void filter(int prime, const weft::recv_chan<int>& in, const weft::send_chan<int>& out) {
    for (int n : in) {
        if (n % prime != 0) out.send(n);
    }
}

}  // namespace

int main() {
    return weft::main([] {
        std::printf("the first %d primes:\n", primes_wanted);

        weft::chan<int> numbers;
        weft::go({.name = "generator"}, [numbers] { generate(numbers); });

        for (int i = 1; i <= primes_wanted; ++i) {
            const int prime = numbers.recv().value();
            std::printf("%4d%s", prime, i % primes_per_line == 0 ? "\n" : "");

            weft::chan<int> survivors;
            weft::go({.name = "filter"}, [=] { filter(prime, numbers, survivors); });
            numbers = survivors;
        }
    });
}
