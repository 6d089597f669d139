// search.cc: the model checker, compiled once for all models; see erased_suite.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <ostream>
#include <streambuf>

#include <weft/detail/allocate.h>

#include "model.h"

namespace model {

int blocks_in_use = 0;

}  // namespace model

namespace weft::detail {

namespace {

// The size is stored before each block.
constexpr std::size_t header_size = alignof(std::max_align_t);

}  // namespace

void* allocate(std::size_t size, std::size_t align) {
    RL_ASSERT(align <= header_size);
    auto* block = static_cast<std::byte*>(::operator new(header_size + size));
    std::memcpy(block, &size, sizeof(size));
    ++model::blocks_in_use;
    return block + header_size;
}

void deallocate(void* block, std::size_t /*align*/) noexcept {
    std::size_t size = 0;
    std::byte* whole = static_cast<std::byte*>(block) - header_size;
    std::memcpy(&size, whole, sizeof(size));
    std::memset(block, 0xdd, size);
    --model::blocks_in_use;
    ::operator delete(whole);
}

void spin_backoff(uint32_t /*round*/) noexcept { rl::yield(1, $); }

void assert_failed(const char* condition, const char* /*file*/, int /*line*/) noexcept {
    rl::ctx().fail_test(condition, rl::test_result_user_assert_failed, $);
    std::abort();
}

void fatal(const char* format, ...) noexcept {
    rl::ctx().fail_test(format, rl::test_result_user_assert_failed, $);
    std::abort();
}

}  // namespace weft::detail

namespace model {

namespace {

const erased_suite* explored = nullptr;

template <unsigned Threads>
struct any_suite : rl::test_suite<any_suite<Threads>, Threads> {
    any_suite() {
        blocks_in_use = 0;
        explored->construct();
    }

    ~any_suite() { explored->destroy(); }

    void before() { explored->before(); }

    void thread(unsigned me) { explored->thread(me); }

    void after() { explored->after(); }
};

// Collects Relacy's output. A history is printed only if an error was found. This must not
// allocate, because in a model operator new belongs to Relacy.
class report_buffer : public std::streambuf {
public:
    void print() const { std::printf("%.*s\n", static_cast<int>(used_), text_); }

protected:
    int overflow(int c) override {
        if (used_ < sizeof(text_)) text_[used_++] = static_cast<char>(c);
        return c;
    }

private:
    std::size_t used_ = 0;
    char text_[1 << 20];
};

template <unsigned Threads>
rl::test_result_e run(rl::test_params& params, rl::ostringstream& state, bool again) {
    using suite = any_suite<Threads>;
    switch (params.search_type) {
        case rl::sched_full:
            return rl::run_test<suite, rl::full_search_scheduler<Threads>>(params, state, again);
        case rl::sched_bound:
            return rl::run_test<suite, rl::context_bound_scheduler<Threads>>(params, state, again);
        default:
            return rl::run_test<suite, rl::random_scheduler<Threads>>(params, state, again);
    }
}

template <unsigned... LessTwo>
rl::test_result_e run(unsigned threads,
                      rl::test_params& params,
                      rl::ostringstream& state,
                      bool again,
                      std::integer_sequence<unsigned, LessTwo...>) {
    rl::test_result_e result = rl::test_result_success;
    static_cast<void>(((threads == LessTwo + 2 && (result = run<LessTwo + 2>(params, state, again), true)) || ...));
    return result;
}

rl::test_result_e run(unsigned threads, rl::test_params& params, rl::ostringstream& state, bool again) {
    return run(threads, params, state, again, std::make_integer_sequence<unsigned, threads_max - 1>());
}

// The value of an environment variable, which must be a number above 0; 0 if it is not set.
uint64_t number_from(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return 0;
    const uint64_t number = std::strtoull(text, nullptr, 10);
    if (number == 0) {
        std::printf("%s is \"%s\"; it has to be a number above 0\n", variable, text);
        std::exit(2);
    }
    return number;
}

// WEFT_MODEL_EXECUTIONS replaces every search by a short random one: mutants run that first, since
// it finds most defects at once. WEFT_MODEL_PERCENT shortens the random searches only.
search bounded(search how) {
    static const uint64_t most = number_from("WEFT_MODEL_EXECUTIONS");
    static const uint64_t percent = number_from("WEFT_MODEL_PERCENT");
    const bool walks = how.how == search::kind::random;
    if (most != 0) return random(walks ? std::min(how.amount, most) : most);
    if (walks && percent != 0) return random(std::max<uint64_t>(how.amount * percent / 100, 1));
    return how;
}

void describe(char (&text)[32], search how, rl::test_params& params) {
    switch (how.how) {
        case search::kind::all:
            params.search_type = rl::sched_full;
            std::snprintf(text, sizeof(text), "all");
            return;
        case search::kind::switches:
            params.search_type = rl::sched_bound;
            params.context_bound = static_cast<unsigned>(how.amount);
            std::snprintf(text, sizeof(text), "%u preemptions", params.context_bound);
            return;
        case search::kind::random:
            params.search_type = rl::sched_random;
            params.iteration_count = how.amount;
            std::snprintf(text, sizeof(text), "random");
            return;
    }
}

}  // namespace

bool explore(const erased_suite& suite, const char* name, search how) {
    static report_buffer buffer;
    static std::ostream report(&buffer);
    static std::ostream nowhere(nullptr);
    explored = &suite;
    rl::test_params params;
    params.output_stream = &report;
    params.progress_stream = &nowhere;
    params.execution_depth_limit = 20'000;
    char kind[32];
    describe(kind, bounded(how), params);
    const std::clock_t start = std::clock();
    rl::ostringstream state;
    const bool ok = run(suite.threads, params, state, false) == rl::test_result_success;
    std::printf("%-44s %-15s %9llu executions %5.1f s  %s\n", name, kind,
                static_cast<unsigned long long>(params.stop_iteration),
                static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC,
                ok ? "ok" : rl::test_result_str(params.test_result));
    std::fflush(stdout);
    if (ok) return true;
    // Runs it once more, to record its history.
    params.initial_state = state.str();
    params.collect_history = true;
    run(suite.threads, params, state, true);
    buffer.print();
    return false;
}

}  // namespace model
