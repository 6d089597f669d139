// simulated_disks.h: the disks of a simulation's hosts, in memory.
//
// A node is a file or a directory. It has what programs see, and what is safe: what a crash leaves.
// Between the two lie changes, in the order in which they were made:
//
//   contents   of each file: writes and cuts. A sync of the file makes those safe that were made
//              before it began. A write is a change from its beginning, so a crash may cut it.
//   names      of the disk: which entries of which directories came or went. A rename is one
//              change. A sync of a directory makes those safe that concern it, and all earlier
//              ones.
//
// A crash lets the schedule choose what survives of the changes that are not safe:
//
//   contents   all (the default); nothing; each change or not, as if the disk had reordered them;
//              or, in each file, the first ones, and a part of the next one, cut at a sector. The
//              size may have reached the disk before the bytes, whose place is then zero
//   names      the first ones, in the order of all directories; by default all
//
// Contents and names are apart. So a file may have its new name, but not its new contents, as on
// ext4 and XFS, and a synced file may have no name.
//
// Rejected: Names in any order. File systems with a journal, which is all common ones, keep it.
//
// Invariants:
//   - A node lives until the schedule ends, because changes refer to it.
//   - What is safe plus all changes, in order, is what programs see.
//   - The names that are safe are those that programs saw at some time.
//   - A file that was opened before a crash fails with EIO afterwards.
//
// Threads: the simulation's M. See: docs/sim.md#files, src/sched/simulated_files.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/sim/disk.h>

#include "sched/simulated_files.h"

namespace weft::sim {

class controlled_run;

class simulated_disks final : public weft::detail::simulated_files {
public:
    // Open files get the numbers from first on, at most `most`.
    simulated_disks(controlled_run& run, int first, int most);

    // Before the numbers become those of another simulation.
    void forget_descriptors() noexcept;

    // A schedule begins.
    void clear();

    // Host's programs have lost their files; what is not safe is lost, as the schedule chooses.
    void crash(unsigned host);
    void set(unsigned host, const disk_options& how);
    [[nodiscard]] const disk_options& options(unsigned host);
    void fail(unsigned host, file_call what, int error, const call_failures& which);
    // EIO, of one sync; also takes that back.
    void fail_next_sync(unsigned host, bool fails);
    void use_real(unsigned host, std::string_view directory);
    [[nodiscard]] uint64_t used(unsigned host);

    [[nodiscard]] bool has(int fd) const noexcept { return fd >= first_; }

    int close(int fd) noexcept;

    int open(const char* path, const weft::detail::os::open_flags& how, uint32_t permissions) override;
    int64_t read(int fd, const iovec* into, std::size_t count, int64_t offset) override;
    int64_t write(int fd, const iovec* from, std::size_t count, int64_t offset) override;
    int64_t seek(int fd, int64_t offset, weft::detail::os::seek_from from) override;
    int sync(int fd, bool data_only) override;
    int truncate(int fd, int64_t size) override;
    int status_of(int fd, weft::detail::os::file_status& s) override;
    int status_at(const char* path, weft::detail::os::file_status& s) override;
    int list(const char* path,
             void (*each)(void* closure, const char* name, weft::detail::os::file_kind kind),
             void* closure) override;
    int rename(const char* from, const char* to) override;
    int unlink(const char* path) override;
    int make_directory(const char* path, uint32_t permissions) override;
    int remove_directory(const char* path) override;
    [[nodiscard]] bool is_real(std::string_view path) const override;

private:
    // A write at `at`, or a cut to that size.
    struct change {
        uint64_t number;
        bool cuts;
        uint64_t at;
        std::string bytes;
    };

    struct node {
        uint64_t number = 0;
        bool is_directory = false;
        uint32_t permissions = 0;
        int64_t modified_ns = 0;
        uint64_t links = 0;   // names that lead to it; a directory has one
        uint64_t opened = 0;  // open files, without those from before a crash; they need the space, too
        std::string bytes{};
        std::map<std::string, node*> entries{};
        std::string safe_bytes{};
        std::map<std::string, node*> safe_entries{};
        std::vector<change> changes{};
    };

    struct entry {
        node* directory;
        std::string name;
        node* to;  // nullptr: it goes
    };

    struct renaming {
        uint64_t number;
        std::vector<entry> entries;
    };

    struct failing_call {
        file_call what;
        int error;
        call_failures left;
    };

    struct drive {
        disk_options options;
        std::vector<std::unique_ptr<node>> nodes;  // kept until the end; the first one is the root
        std::vector<renaming> names;               // changes
        std::vector<failing_call> failing;
        std::vector<std::string> real;
        bool next_sync_fails = false;  // by a plan of faults
        uint64_t used = 0;
        unsigned boots = 0;
    };

    struct open_file {
        unsigned host = 0;
        unsigned boot = 0;
        node* of = nullptr;  // nullptr: closed
        uint64_t position = 0;
        bool reads = false;
        bool writes = false;
        bool appends = false;
        bool syncs = false;
        std::string path{};
    };

    struct place {
        node* directory = nullptr;  // nullptr: error
        node* at = nullptr;         // nullptr: nothing has that name
        std::string name{};         // empty: the root, or "." or ".."
        bool must_be_directory = false;
        int error = 0;
    };

    [[nodiscard]] drive& of(unsigned host);
    [[nodiscard]] node& new_node(drive& d, bool is_directory, uint32_t permissions);
    [[nodiscard]] place find(drive& d, std::string_view path) const;
    [[nodiscard]] int begin(unsigned& host, const char* verb, std::string_view path);
    [[nodiscard]] int begin_at(unsigned& host, place& p, const char* verb, std::string_view path);
    [[nodiscard]] int begin(int fd, open_file*& f, const char* verb);
    [[nodiscard]] int failure_of(unsigned host, file_call what);
    [[nodiscard]] int wait(unsigned host);
    [[nodiscard]] int open_at(unsigned host, const place& p, const weft::detail::os::open_flags& how, uint32_t perms);
    void change_names(drive& d, std::vector<entry> entries);
    void apply(drive& d, node& n, bool cuts, uint64_t at, std::string bytes);
    [[nodiscard]] static uint64_t room_of(const drive& d) noexcept;
    static void apply_to(std::string& bytes, const change& c);
    void make_safe(drive& d, node& n, uint64_t up_to);
    static void make_names_safe(drive& d, std::size_t count);
    [[nodiscard]] std::size_t lose_contents(const drive& d, node& n, uint32_t way);
    [[nodiscard]] std::size_t lose_names(drive& d);
    void describe(const node& n, weft::detail::os::file_status& s) const;

    controlled_run& run_;
    const int first_;
    const int most_;
    std::vector<std::unique_ptr<drive>> drives_;  // by host
    std::vector<std::unique_ptr<open_file>> open_;
    std::vector<int> free_;
    uint64_t nodes_ = 0;
    uint64_t changes_ = 0;
};

}  // namespace weft::sim
