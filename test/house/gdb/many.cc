// many.cc: a program that parks many green threads, in groups of known sizes, and stops in
// stop_here(). Its argument is how many.
#include <cstdlib>

#include <weft/weft.h>

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }

namespace {

[[gnu::noinline]] void take(const weft::chan<int>& from) {
    static_cast<void>(from.recv());
    asm volatile("");  // no tail call
}

[[gnu::noinline]] void nest(const weft::chan<int>& from, unsigned depth) {
    if (depth == 0) {
        take(from);
    } else {
        nest(from, depth - 1);
    }
    asm volatile("");  // no tail call
}

}  // namespace

// Half of the green threads call take() directly, a quarter through one nest(), an eighth through
// two, and so on.
int main(int argc, char** argv) {
    constexpr unsigned deepest = 5;
    const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
    return weft::main({.procs = 1}, [count] {
        const weft::chan<int> never;
        for (unsigned long i = 1; i <= count; ++i) {
            const auto zeros = static_cast<unsigned>(__builtin_ctzl(i));
            const unsigned depth = zeros < deepest ? zeros : deepest;
            weft::go([never, depth] { nest(never, depth); });
        }
        while (weft::stats().waiting < count) weft::yield();
        stop_here();
        std::exit(0);  // they still wait
    });
}
