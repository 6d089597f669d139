// config_reload.cc: a configuration that many read and that is replaced at run time, by SIGHUP.
// See: docs/cookbook/config_reload.md
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/signals.h>
#include <weft/weft.h>

namespace {

struct config {
    std::string greeting;
};

// Readers get a snapshot: one request sees one configuration from its begin to its end, and a
// reload waits for no request.
class live_config {
public:
    explicit live_config(std::function<config()> read)
        : read_(std::move(read)), current_(std::make_shared<const config>(read_())) {}

    [[nodiscard]] std::shared_ptr<const config> snapshot() const {
        const std::shared_lock hold(lock_);
        return current_;
    }

    // Keeps the old configuration if the new one cannot be read.
    void reload() {
        auto fresh = std::make_shared<const config>(read_());  // may wait, without the lock
        const std::lock_guard hold(lock_);
        current_.swap(fresh);
    }

private:
    const std::function<config()> read_;
    mutable weft::shared_mutex lock_;
    std::shared_ptr<const config> current_;  // guarded by lock_
};

void reload_on_signal(live_config& live, const weft::recv_chan<int>& hangups, const weft::chan<int>& reloaded) {
    while (hangups.recv()) {
        try {
            live.reload();
        } catch (const std::runtime_error& e) {
            std::printf("kept the old one: %s\n", e.what());
        }
        reloaded.send(1);
    }
}

}  // namespace

int main() {
    return weft::main([] {
        std::string file = "hello";  // programs read a file here
        live_config live([&] {
            if (file.empty()) throw std::runtime_error("the file is empty");
            return config{file};
        });
        weft::signals::subscription hangup = weft::signals::notify({SIGHUP}, 1);
        const weft::chan<int> reloaded;
        weft::wait_group reloader;
        reloader.go([&] { reload_on_signal(live, hangup.channel(), reloaded); });

        const auto before = live.snapshot();
        const auto edit = [&](const std::string& text) {
            file = text;
            ::kill(::getpid(), SIGHUP);  // what an operator does
            reloaded.recv();
            std::printf("now: %s\n", live.snapshot()->greeting.c_str());
        };
        edit("good morning");
        edit("");
        std::printf("a request that began before: %s\n", before->greeting.c_str());
        hangup.stop();
        reloader.wait();
    });
}
