// watch.cc: see weft/fs/watch.h.
#include <cerrno>

#include <weft/blocking.h>
#include <weft/detail/step.h>
#include <weft/error.h>
#include <weft/fs/watch.h>

#include "fs/report.h"
#include "os/watch_calls.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;

static_assert(static_cast<int>(watch_kind::overflow) == static_cast<int>(os::watch_change::overflow));

const char* const name_of_queue = "inotify";

}  // namespace

watcher::watcher(std::error_code& ec) {
    const int fd = weft::detail::simulates() ? -ENOTSUP : os::watch_open();
    detail::set_result(ec, fd);
    if (!ec) events_ = file::adopt(fd, name_of_queue);
}

watcher::watcher() {
    std::error_code ec;
    *this = watcher(ec);
    detail::throw_if(ec, "watch files with", name_of_queue);
}

void watcher::add(const std::string& path, std::error_code& ec) {
    if (path.find('\0') != std::string::npos) {
        detail::set_result(ec, -EINVAL);
        return;
    }
    if (!events_.is_open()) {
        ec = errc::closed;
        return;
    }
    const int watch = blocking([&] { return os::watch_add(events_.native_handle(), path.c_str()); });
    detail::set_result(ec, watch);
    if (!ec) paths_[watch] = path;
}

void watcher::add(const std::string& path) {
    std::error_code ec;
    add(path, ec);
    detail::throw_if(ec, "watch", path);
}

bool watcher::remove(const std::string& path) {
    for (auto at = paths_.begin(); at != paths_.end(); ++at) {
        if (at->second != path) continue;
        // Its path is forgotten when the system reports that it is gone.
        return events_.is_open() && os::watch_remove(events_.native_handle(), at->first) == 0;
    }
    return false;
}

std::optional<watch_event> watcher::recv(std::error_code& ec) {
    ec.clear();
    while (read_.empty()) {
        alignas(8) char data[os::watch_buffer_size];
        const std::size_t size = events_.read_some(mutable_buffer(data, sizeof(data)), ec);
        if (ec == errc::closed) ec.clear();
        if (ec || size == 0) return std::nullopt;
        os::watch_parse(
            data, size,
            [](void* closure, const os::watch_report& r) {
                auto& self = *static_cast<watcher*>(closure);
                const auto at = self.paths_.find(r.watch);
                watch_event e{static_cast<watch_kind>(r.what), {}, r.is_directory, r.cookie};
                if (at != self.paths_.end()) e.path = at->second;
                if (r.name != nullptr) e.path.append(e.path.ends_with('/') ? "" : "/").append(r.name);
                self.read_.push_back(std::move(e));
                if (r.watch_ended && at != self.paths_.end()) self.paths_.erase(at);
            },
            this);
    }
    watch_event first = std::move(read_.front());
    read_.pop_front();
    return first;
}

std::optional<watch_event> watcher::recv() {
    std::error_code ec;
    std::optional<watch_event> event = recv(ec);
    detail::throw_if(ec, "receive changes from", name_of_queue);
    return event;
}

}  // namespace weft::fs
