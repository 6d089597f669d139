// exports.cc: what it takes to copy, write, read and convert a recording of about n events.
//
// Times are CPU times of the calling thread, which does all of the work.
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <weft/observe/recorder.h>
#include <weft/trace.h>
#include <weft/weft.h>

#include "costs.h"

namespace bench {

namespace {

using namespace std::chrono_literals;
using weft::observe::recording;

constexpr std::size_t bytes_of_event = 24;

// A folder that is removed with what is in it.
class temporary_folder {
public:
    temporary_folder() {
        std::string path = (std::filesystem::temp_directory_path() / "weft_export_XXXXXX").string();
        if (::mkdtemp(path.data()) == nullptr) fail("cannot create a temporary folder");
        path_ = path;
    }

    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

// Six events for each round trip: two waits, two wake-ups, two runs.
void pingpong(int64_t events) {
    weft::chan<int64_t> ping;
    weft::chan<int64_t> pong;
    weft::wait_group done;
    done.add(1);
    weft::go([&] {
        while (const auto value = ping.recv()) pong.send(*value + 1);
        done.done();
    });
    for (int64_t i = 0; i < events / 6; ++i) {
        ping.send(i);
        check(pong.recv() == i + 1, "the echo");
    }
    ping.close();
    done.wait();
}

// A pool with four workers serves requests. Each request is a green thread, has a region, takes a
// lock, and sleeps at times; a counter has the number of requests.
void serve_requests(int64_t requests) {
    weft::chan<int64_t> queue(64);
    weft::mutex lock;
    int64_t served = 0;
    weft::wait_group done;
    for (int worker = 0; worker < 4; ++worker) {
        done.add(1);
        weft::go({.name = "worker"}, [&] {
            for (const int64_t request : queue) {
                weft::wait_group answered;
                answered.add(1);
                weft::go({.name = "request"}, [&, request] {
                    const weft::trace::region handling("request");
                    if (request % 16 == 0) weft::sleep_for(10us);
                    lock.lock();
                    ++served;
                    if (request % 4 == 0) weft::yield();
                    lock.unlock();
                    answered.done();
                });
                answered.wait();
            }
            done.done();
        });
    }
    for (int64_t i = 0; i < requests; ++i) {
        if (i % 8 == 0) weft::trace::counter("requests", i);
        queue.send(i);
    }
    queue.close();
    done.wait();
    check(served == requests, "every request was served");
}

// work(n): causes about n events.
measurement run_export(const run_arguments& arguments, const std::function<void(int64_t)>& work) {
    measurement result;
    const weft::runtime_options options{.procs = static_cast<unsigned>(arguments.p)};
    weft::main(options, [&] {
        const temporary_folder folder;
        std::vector<recording> taken;
        int64_t began = 0;
        const auto timed = [&](const char* name, auto step) {
            began = thread_cpu_ns();
            step();
            result.add(name, static_cast<double>(thread_cpu_ns() - began) / 1e9);
        };
        const auto written = [&](const char* seconds, const char* bytes, const char* file, auto write) {
            timed(seconds, [&] { write(folder.file(file)); });
            const auto size = static_cast<int64_t>(std::filesystem::file_size(folder.file(file)));
            result.add_per_op(bytes, size, static_cast<int64_t>(taken[0].events()));
        };

        // Twice the events that are expected.
        const weft::observe::recorder recorder(
            {.bytes_per_thread = bytes_of_event * 2 * static_cast<std::size_t>(arguments.n)});
        work(arguments.n);
        timed("snapshot_s", [&] { taken.push_back(recorder.snapshot()); });
        const recording& r = taken[0];
        check(r.lost() == 0, "every event is in the snapshot");
        result.add("events", static_cast<double>(r.events()));
        written("write_s", "bytes", "x.weftrec", [&](const std::string& path) { r.write(path); });
        timed("read_s", [&] { taken.push_back(recording::read(folder.file("x.weftrec"))); });
        check(taken[1].events() == taken[0].events(), "every event is in the file");
        const recording& all = taken[0];
        timed("summary_s", [&] { check(!all.summary().empty(), "the summary"); });
        written("perfetto_s", "perfetto_bytes", "x.pftrace",
                [&](const std::string& path) { all.write_perfetto(path); });
        written("chrome_s", "chrome_bytes", "x.json", [&](const std::string& path) { all.write_chrome_json(path); });
        written("text_s", "text_bytes", "x.txt", [&](const std::string& path) { all.write_text(path); });
    });
    return result;
}

}  // namespace

measurement run_export_pingpong(const run_arguments& arguments) { return run_export(arguments, pingpong); }

measurement run_export_mixed(const run_arguments& arguments) {
    constexpr int64_t events_of_request = 11;
    return run_export(arguments, [](int64_t events) { serve_requests(events / events_of_request); });
}

}  // namespace bench
