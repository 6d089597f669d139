// watch.h: changes of files and directories, as they happen (inotify).
//
//     weft::fs::watcher changes;
//     changes.add("conf.d");
//     for (const weft::fs::watch_event& e : changes) {
//         if (e.what == weft::fs::watch_kind::written) reload(e.path);
//     }
//
// Like a channel: recv() waits for the next event, is a cancellation point, and returns nullopt
// after close(). The system queues the events; no green thread is needed. A directory's events are
// those of its entries, not of what is in its subdirectories. Changes that were made through a
// network file system by another machine are not reported.
//
// The queue has a limit. If it overflows, an event of kind overflow says that others are lost: look
// at everything again. Between a change and its event other changes may happen, so an event is a
// hint to look, and not a description of what is there.
//
// Linux only. Elsewhere, and in a simulation, the constructor fails with std::errc::not_supported.
//
// Threads: recv() by one thread at a time, which may also call add() and remove(); close(): any.
// See: docs/files.md#watching
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/fs.h>

namespace weft::fs {

enum class watch_kind : uint8_t {
    created,
    modified,  ///< a write, or a truncation
    written,   ///< a file that was open for writing has been closed
    removed,
    moved_from,  ///< renamed, or moved away; the same `move` as in moved_to
    moved_to,
    attributes,  ///< permissions, times, owner, the number of links
    gone,        ///< it is no longer watched: it was removed, or its file system is gone
    overflow,    ///< events were lost
};

struct watch_event {
    watch_kind what = watch_kind::overflow;
    std::string path;  ///< that was given to add(), with the name of the entry; empty: overflow
    bool is_directory = false;
    uint32_t move = 0;  ///< not 0: connects the two events of one move
};

class watcher {
public:
    /// Watches nothing yet. Throws std::system_error: the system's limit of watchers
    /// (std::errc::too_many_files_open), not_supported.
    watcher();
    explicit watcher(std::error_code& ec);

    watcher(watcher&&) noexcept = default;
    watcher& operator=(watcher&&) noexcept = default;
    ~watcher() = default;

    /// Watches a file, or a directory's entries, from now on. Follows symbolic links. May be
    /// repeated. std::errc::no_space_on_device: the system's limit of watches
    /// (fs.inotify.max_user_watches).
    void add(const std::string& path);
    void add(const std::string& path, std::error_code& ec);

    /// Ends that. Events that have happened before may still come. Returns false if path was not
    /// added, or is gone.
    bool remove(const std::string& path);

    /// Waits for the next event. nullopt after close(). Throws std::system_error, weft::cancelled,
    /// weft::timed_out; the other form reports errc::cancelled and errc::timed_out.
    [[nodiscard]] std::optional<watch_event> recv();
    [[nodiscard]] std::optional<watch_event> recv(std::error_code& ec);

    /// Ends a recv() that waits, and all later ones. Any thread.
    void close() noexcept { events_.close(); }

    /// Readable when events have come; for watched_fd (wait_fd.h).
    [[nodiscard]] int native_handle() const noexcept { return events_.native_handle(); }

    /// An input range of watch_event, until close().
    class iterator {
    public:
        using value_type = watch_event;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit iterator(watcher* of) : of_(of), event_(of->recv()) {}

        const watch_event& operator*() const {
            return *event_;  // NOLINT(bugprone-unchecked-optional-access): not the end
        }

        const watch_event* operator->() const {
            return &*event_;  // NOLINT(bugprone-unchecked-optional-access): as above
        }

        iterator& operator++() {
            event_ = of_->recv();
            return *this;
        }

        void operator++(int) { ++*this; }

        friend bool operator==(const iterator& it, std::default_sentinel_t /*end*/) { return !it.event_.has_value(); }

    private:
        watcher* of_;
        std::optional<watch_event> event_;
    };

    [[nodiscard]] iterator begin() { return iterator(this); }

    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    file events_;
    std::map<int, std::string> paths_;  // of the system's numbers
    std::deque<watch_event> read_;      // not yet received
};

}  // namespace weft::fs
