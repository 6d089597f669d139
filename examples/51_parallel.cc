// 51_parallel.cc: computations on all processors, by forks: a recursion, a loop, a sum, a sort.
//
// A fork runs on another processor if one has no work, and else as a function call in its join. So
// a program forks wherever it could, and needs no limit below which it calls instead.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include <weft/parallel.h>
#include <weft/weft.h>

namespace {

struct node {
    std::unique_ptr<node> left;
    std::unique_ptr<node> right;
    int value = 0;
};

std::unique_ptr<node> make_tree(int depth, int value) {
    if (depth == 0) return nullptr;
    auto made = std::make_unique<node>();
    made->value = value;
    weft::forked left([&] { return make_tree(depth - 1, 2 * value); });
    made->right = make_tree(depth - 1, 2 * value + 1);
    made->left = left.join();
    return made;
}

int64_t sum(const node* at) {
    if (at == nullptr) return 0;
    weft::forked left([at] { return sum(at->left.get()); });
    const int64_t right = sum(at->right.get());
    return left.join() + right + at->value;
}

void loops() {
    std::vector<int> squares(100'000);
    weft::parallel_for(std::size_t{0}, squares.size(),
                       [&](std::size_t i) { squares[i] = static_cast<int>(i * i % 1009); });

    const int64_t total = weft::parallel_reduce(
        std::size_t{0}, squares.size(), int64_t{0}, [&](std::size_t i) { return int64_t{squares[i]}; }, std::plus<>());
    std::printf("the squares modulo 1009 add up to %lld\n", static_cast<long long>(total));

    weft::parallel_sort(squares.begin(), squares.end());
    std::printf("sorted: the first is %d, the last %d\n", squares.front(), squares.back());
}

void failure() {
    try {
        weft::parallel_invoke([] {}, [] { throw std::runtime_error("the second part failed"); });
    } catch (const std::runtime_error& e) {
        std::printf("caught: %s\n", e.what());
    }
}

}  // namespace

int main() {
    weft::main([] {
        const auto tree = make_tree(16, 1);
        std::printf("a tree of 65535 nodes: the sum is %lld\n", static_cast<long long>(sum(tree.get())));
        loops();
        failure();
    });
}
