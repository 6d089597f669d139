// 03_prime_sieve.cc: finds primes with a chain of filters, one green thread per prime.
//
// A generator sends 2, 3, 4 … on a channel. The first number that arrives is a prime. The program
// appends a G that drops the multiples of that prime and forwards the rest; the next number to
// arrive is the next prime. Nothing is shared and nothing is locked: values move through channels.
// Green threads are cheap enough to be used as a unit of design.
//
// The chain never ends by itself. When main returns, the hundred Gs that wait in it are abandoned,
// as in Go. (This demonstrates channels, not sieving: a real sieve is an array.)
//
// Based on the sieve in Hoare's "Communicating Sequential Processes" (1978), best known from Go's
// tutorials.
//
// Prints:
//     the first 100 primes:
//        2   3   5   7  11  13  17  19  23  29
//       31  37  41  43  47  53  59  61  67  71
//     and eight more such lines, up to 541
#include <cstdio>

#include <weft/weft.h>

namespace {

constexpr int primes_wanted = 100;
constexpr int primes_per_line = 10;

// Sends 2, 3, 4 … without end.
void generate(const weft::send_chan<int>& out) {
    for (int n = 2;; ++n) out.send(n);
}

// Forwards the numbers that are not divisible by prime.
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
