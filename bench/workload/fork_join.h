// fork_join.h: programs that split their work into two or more parts and wait for them.
//
// fork_two(f, g) runs f as a task and g in place; fork_each(n, f) runs f(0) … f(n - 2) as tasks and
// f(n - 1) in place. Both return when all parts are done. No cut-off by depth: every call is a
// task.
//
// Reported: the time, the tasks started, and P times the time per task.
#pragma once

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "measurement.h"
#include "random.h"

namespace bench {

// Runs work twice, first to warm up, and reports the second run.
template <typename Work>
measurement time_fork_join(const run_arguments& arguments, int64_t tasks, Work work) {
    work();
    const int64_t begin = now_ns();
    work();
    const int64_t elapsed = now_ns() - begin;

    measurement result;
    result.add("ms", static_cast<double>(elapsed) / 1e6);
    result.add("tasks", static_cast<double>(tasks));
    result.add_per_op("core_ns", elapsed * arguments.p, tasks);
    result.add("peak_mib", static_cast<double>(read_memory().peak_bytes) / (1 << 20));
    return result;
}

template <typename Runtime>
int64_t fibonacci(int64_t n) {
    if (n < 2) return n;
    int64_t a = 0;
    int64_t b = 0;
    Runtime::fork_two([&a, n] { a = fibonacci<Runtime>(n - 1); }, [&b, n] { b = fibonacci<Runtime>(n - 2); });
    return a + b;
}

template <typename Runtime>
measurement run_fib(const run_arguments& arguments) {
    int64_t value = 0;
    int64_t next = 1;
    for (int64_t i = 0; i < arguments.n; ++i) value = std::exchange(next, value + next);
    return time_fork_join(arguments, next - 1, [&] {  // fib(n + 1) - 1 calls are inner nodes, and fork once.
        check(fibonacci<Runtime>(arguments.n) == value, "fib: the value");
    });
}

// The queens on the first rows of a board, by column.
struct board {
    static constexpr int64_t largest = 16;

    std::array<int8_t, largest> column{};

    bool admits(int64_t row, int64_t at) const {
        for (int64_t i = 0; i < row; ++i) {
            const int64_t other = column[static_cast<size_t>(i)];
            if (other == at || std::abs(other - at) == row - i) return false;
        }
        return true;
    }

    board with(int64_t row, int64_t at) const {
        board result = *this;
        result.column[static_cast<size_t>(row)] = static_cast<int8_t>(at);
        return result;
    }
};

// The number of ways to complete the board. forks counts the tasks that queens() starts for it.
inline int64_t queens_in_sequence(const board& so_far, int64_t row, int64_t size, int64_t& forks) {
    if (row == size) return 1;
    int64_t ways = 0;
    int64_t children = 0;
    for (int64_t at = 0; at < size; ++at) {
        if (!so_far.admits(row, at)) continue;
        ++children;
        ways += queens_in_sequence(so_far.with(row, at), row + 1, size, forks);
    }
    forks += children > 0 ? children - 1 : 0;
    return ways;
}

template <typename Runtime>
int64_t queens(const board& so_far, int64_t row, int64_t size) {
    if (row == size) return 1;
    std::array<int8_t, board::largest> places{};
    std::array<int64_t, board::largest> ways{};
    size_t children = 0;
    for (int64_t at = 0; at < size; ++at) {
        if (so_far.admits(row, at)) places[children++] = static_cast<int8_t>(at);
    }
    Runtime::fork_each(static_cast<int64_t>(children), [&](int64_t i) {
        const auto child = static_cast<size_t>(i);
        ways[child] = queens<Runtime>(so_far.with(row, places[child]), row + 1, size);
    });
    int64_t sum = 0;
    for (size_t i = 0; i < children; ++i) sum += ways[i];
    return sum;
}

template <typename Runtime>
measurement run_nqueens(const run_arguments& arguments) {
    check(arguments.n <= board::largest, "nqueens: a board of at most 16 rows");
    int64_t forks = 0;
    const int64_t ways = queens_in_sequence(board{}, 0, arguments.n, forks);
    return time_fork_join(arguments, forks, [&] {
        check(queens<Runtime>(board{}, 0, arguments.n) == ways, "nqueens: the number of solutions");
    });
}

// An unbalanced tree. A node's hash determines its children: each of up to eight exists with
// probability 0.8, if the one before it does. Nodes at the greatest depth have no children.
constexpr uint64_t tree_root = 42;
constexpr int64_t tree_children_max = 8;

constexpr int64_t tree_children(uint64_t node, int64_t levels) {
    int64_t count = 0;
    while (levels > 0 && count < tree_children_max && ((node >> (8 * count)) & 255) < 205) ++count;
    return count;
}

constexpr uint64_t tree_child(uint64_t node, int64_t i) { return random(node + static_cast<uint64_t>(i)); }

inline int64_t tree_size_in_sequence(uint64_t node, int64_t levels, int64_t& forks) {
    const int64_t children = tree_children(node, levels);
    int64_t size = 1;
    for (int64_t i = 0; i < children; ++i) size += tree_size_in_sequence(tree_child(node, i), levels - 1, forks);
    forks += children > 0 ? children - 1 : 0;
    return size;
}

template <typename Runtime>
int64_t tree_size(uint64_t node, int64_t levels) {
    const int64_t children = tree_children(node, levels);
    std::array<int64_t, tree_children_max> sizes{};
    Runtime::fork_each(children, [&sizes, node, levels](int64_t i) {
        sizes[static_cast<size_t>(i)] = tree_size<Runtime>(tree_child(node, i), levels - 1);
    });
    int64_t size = 1;
    for (int64_t i = 0; i < children; ++i) size += sizes[static_cast<size_t>(i)];
    return size;
}

// N is the greatest depth.
template <typename Runtime>
measurement run_uts(const run_arguments& arguments) {
    const uint64_t root = random(tree_root);
    int64_t forks = 0;
    const int64_t size = tree_size_in_sequence(root, arguments.n, forks);
    return time_fork_join(arguments, forks,
                          [&] { check(tree_size<Runtime>(root, arguments.n) == size, "uts: the number of nodes"); });
}

// A square part of a matrix of width `stride`.
struct square {
    double* first;
    int64_t stride;

    square quarter(int64_t row, int64_t column, int64_t half) const {
        return {first + row * half * stride + column * half, stride};
    }
};

constexpr int64_t matmul_leaf = 32;

// A separate function, so that every C++ peer runs the same code.
[[gnu::noinline]] inline void multiply_leaf(square a, square b, square c) {
    for (int64_t i = 0; i < matmul_leaf; ++i) {
        double* __restrict sums = c.first + i * c.stride;
        for (int64_t k = 0; k < matmul_leaf; ++k) {
            const double factor = a.first[i * a.stride + k];
            const double* __restrict values = b.first + k * b.stride;
            for (int64_t j = 0; j < matmul_leaf; ++j) sums[j] += factor * values[j];
        }
    }
}

// c += a × b, by quarters: four products at once, then the four that add to the same quarters.
template <typename Runtime>
void multiply(square a, square b, square c, int64_t size) {
    if (size == matmul_leaf) return multiply_leaf(a, b, c);
    const int64_t half = size / 2;
    for (const int64_t k : {0, 1}) {
        Runtime::fork_each(4, [=](int64_t i) {
            multiply<Runtime>(a.quarter(i / 2, k, half), b.quarter(k, i % 2, half), c.quarter(i / 2, i % 2, half),
                              half);
        });
    }
}

// N rows and columns, 32 times a power of two.
template <typename Runtime>
measurement run_matmul(const run_arguments& arguments) {
    const int64_t n = arguments.n;
    const auto cells = static_cast<size_t>(n * n);
    std::vector<double> a(cells);
    std::vector<double> b(cells);
    double expected = 0;
    for (int64_t k = 0; k < n; ++k) {
        double column_of_a = 0;
        double row_of_b = 0;
        for (int64_t i = 0; i < n; ++i) {
            column_of_a += a[static_cast<size_t>(i * n + k)] = static_cast<double>((i + k) % 7);
            row_of_b += b[static_cast<size_t>(k * n + i)] = static_cast<double>((i + 2 * k) % 5);
        }
        expected += column_of_a * row_of_b;
    }
    int64_t forks = 0;
    int64_t nodes = 1;
    for (int64_t size = n; size > matmul_leaf; size /= 2, nodes *= 8) forks += nodes * 6;
    return time_fork_join(arguments, forks, [&] {
        std::vector<double> c(cells);
        multiply<Runtime>({a.data(), n}, {b.data(), n}, {c.data(), n}, n);
        double sum = 0;
        for (const double cell : c) sum += cell;
        check(sum == expected, "matmul: the sum of the product");
    });
}

}  // namespace bench
