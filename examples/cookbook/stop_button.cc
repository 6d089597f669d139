// stop_button.cc: the user presses stop on another thread. The job ends, however deep its calls
// are, and cleans up.
// See: docs/cookbook/stop_button.md
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

weft::event under_way;

struct temporary_file {
    temporary_file() { std::printf("temporary file made\n"); }

    ~temporary_file() { std::printf("temporary file removed\n"); }
};

// A call that waits is interrupted by itself. One that computes asks.
std::uint64_t render(int page) {
    std::uint64_t sum = 0;
    for (int row = 0; row < 1000; ++row) {
        weft::throw_if_cancelled();
        sum += static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(row);
    }
    return sum;
}

void upload(std::uint64_t /*page*/) { weft::sleep_for(100us); }

void export_pages(int pages) {
    const temporary_file file;
    for (int page = 1; page <= pages; ++page) {
        upload(render(page));
        if (page == 3) under_way.set();
    }
}

// Knows nothing of threads; returns whether the job was done.
bool run_job(const std::stop_token& stop, int pages) {
    try {
        weft::with_stop_token(stop, [&] { export_pages(pages); });
        return true;
    } catch (const weft::cancelled&) {
        return false;
    }
}

}  // namespace

int main() {
    return weft::main([] {
        std::stop_source button;
        std::jthread user_interface([button]() mutable {  // any thread may press it
            under_way.wait();
            button.request_stop();
        });
        std::printf("%s\n", run_job(button.get_token(), 1'000'000'000) ? "exported" : "stopped by the user");
    });
}
