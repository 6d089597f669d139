// simulated_disks.cc: see simulated_disks.h.
#include "sim/simulated_disks.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/step.h>
#include <weft/time.h>

#include "netpoll/poll_desc.h"
#include "sim/controlled_run.h"

namespace weft::sim {

namespace {

namespace os = weft::detail::os;

using weft::detail::host_crashed;

constexpr uint32_t disk_jitter_steps = 8;
constexpr uint32_t short_write_once_in = 16;
constexpr uint32_t short_write_places = 1'000'000;
constexpr uint64_t largest_file = uint64_t{1} << 32;

// What survives of the contents, by the schedule's choice.
enum way : uint32_t { everything, nothing, some, first_ones, ways };

std::string gathered(const iovec* from, std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.append(static_cast<const char*>(from[i].iov_base), from[i].iov_len);
    return bytes;
}

// Of a directory that the path does not call by its name, as on Linux.
int error_of_removal(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) return -EBUSY;
    return path.ends_with("..") ? -ENOTEMPTY : -EINVAL;
}

std::string counted(std::size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

}  // namespace

simulated_disks::simulated_disks(controlled_run& run, int first, int most) : run_(run), first_(first), most_(most) {}

void simulated_disks::forget_descriptors() noexcept {
    if (!open_.empty()) weft::detail::poll_desc::forget_simulated(first_, static_cast<int>(open_.size()));
}

void simulated_disks::clear() {
    drives_.clear();
    free_.clear();
    for (std::size_t i = open_.size(); i > 0; --i) {
        *open_[i - 1] = open_file{};
        free_.push_back(static_cast<int>(i - 1));  // the lowest number is taken first
    }
    nodes_ = 0;
    changes_ = 0;
}

simulated_disks::drive& simulated_disks::of(unsigned host) {
    while (drives_.size() <= host) {
        drives_.push_back(std::make_unique<drive>());
        drive& d = *drives_.back();
        node& root = new_node(d, true, 0755);
        node& tmp = new_node(d, true, 0777);
        tmp.links = 1;
        root.entries["tmp"] = root.safe_entries["tmp"] = &tmp;
    }
    return *drives_[host];
}

simulated_disks::node& simulated_disks::new_node(drive& d, bool is_directory, uint32_t permissions) {
    d.nodes.push_back(std::make_unique<node>());
    node& n = *d.nodes.back();
    n.number = ++nodes_;
    n.is_directory = is_directory;
    n.permissions = permissions & 07777;
    n.modified_ns = run_.now_ns;
    return n;
}

void simulated_disks::set(unsigned host, const disk_options& how) { of(host).options = how; }

const disk_options& simulated_disks::options(unsigned host) { return of(host).options; }

void simulated_disks::fail(unsigned host, file_call what, int error, const call_failures& which) {
    of(host).failing.push_back({what, error, which});
}

void simulated_disks::fail_next_sync(unsigned host, bool fails) { of(host).next_sync_fails = fails; }

void simulated_disks::use_real(unsigned host, std::string_view directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
    of(host).real.emplace_back(directory);
}

uint64_t simulated_disks::used(unsigned host) { return of(host).used; }

bool simulated_disks::is_real(std::string_view path) const {
    const unsigned host = run_.host_of_caller();
    if (host >= drives_.size() || path.find("..") != std::string_view::npos) return false;
    return std::ranges::any_of(drives_[host]->real, [&](const std::string& r) {
        return path.starts_with(r) && (r == "/" || path.size() == r.size() || path[r.size()] == '/');
    });
}

// ---- What each call begins with.

// A step. Returns 0, or minus an error.
int simulated_disks::begin(unsigned& host, const char* verb, std::string_view path) {
    weft::detail::take_step(weft::detail::operation::checkpoint, nullptr);
    host = run_.host_of_caller();
    if (run_.caller_has_crashed()) return -host_crashed;
    if (run_.keeps_steps()) run_.note(run_.network().computers.name(host) + " " + verb + " " + std::string(path));
    return 0;
}

// Of a call on a path, which need not exist.
int simulated_disks::begin_at(unsigned& host, place& p, const char* verb, std::string_view path) {
    if (const int error = begin(host, verb, path); error != 0) return error;
    p = find(of(host), path);
    return p.error;
}

// Of a call on an open file.
int simulated_disks::begin(int fd, open_file*& f, const char* verb) {
    const auto i = static_cast<std::size_t>(fd - first_);
    if (i >= open_.size() || open_[i]->of == nullptr) return -EBADF;
    unsigned host = 0;
    if (const int error = begin(host, verb, open_[i]->path); error != 0) return error;
    f = open_[i].get();
    if (f->of == nullptr) return -EBADF;
    return f->boot == of(f->host).boots ? 0 : -EIO;  // opened before a crash
}

// All rules count the call, also if another one makes it fail.
int simulated_disks::failure_of(unsigned host, file_call what) {
    int error = 0;
    for (failing_call& f : of(host).failing) {
        if (f.what != what || f.left.times == 0) continue;
        if (f.left.after != 0) {
            --f.left.after;
            continue;
        }
        --f.left.times;
        error = f.error;
    }
    if (what == file_call::sync && std::exchange(of(host).next_sync_fails, false)) error = EIO;
    if (error != 0) run_.note("this fails: " + std::generic_category().message(error));
    return -error;
}

// For the disk. Returns 0, or -host_crashed: the caller's host has crashed.
int simulated_disks::wait(unsigned host) {
    const disk_options& how = of(host).options;
    std::chrono::nanoseconds time = how.latency;
    if (how.jitter.count() != 0) time += how.jitter * run_.draw(disk_jitter_steps) / (disk_jitter_steps - 1);
    if (time.count() > 0) weft::shield([&] { weft::sleep_for(time); });
    return run_.caller_has_crashed() ? -host_crashed : 0;
}

// ---- Names.

simulated_disks::place simulated_disks::find(drive& d, std::string_view path) const {
    if (path.empty()) return {.error = -ENOENT};
    std::vector<node*> above{d.nodes.front().get()};
    place p{.directory = above.front(), .at = above.front()};
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view name = path.substr(0, end);
        p.must_be_directory = end != path.size();
        path.remove_prefix(std::min(end + 1, path.size()));
        if (name.empty()) continue;
        if (p.at == nullptr) return {.error = -ENOENT};
        if (!p.at->is_directory) return {.error = -ENOTDIR};
        if (name.size() > 255) return {.error = -ENAMETOOLONG};
        if (p.at != above.back()) above.push_back(p.at);
        if (name == ".") {
            p = {.directory = above.back(), .at = above.back(), .must_be_directory = true};
            continue;
        }
        if (name == "..") {
            if (above.size() > 1) above.pop_back();
            p = {.directory = above.back(), .at = above.back(), .must_be_directory = true};
            continue;
        }
        p.directory = above.back();
        const auto found = p.directory->entries.find(std::string(name));
        p.at = found == p.directory->entries.end() ? nullptr : found->second;
        p.name = name;
    }
    if (p.must_be_directory && p.at != nullptr && !p.at->is_directory) return {.error = -ENOTDIR};
    return p;
}

void simulated_disks::change_names(drive& d, std::vector<entry> entries) {
    for (const entry& e : entries) {
        e.directory->modified_ns = run_.now_ns;
        if (const auto old = e.directory->entries.find(e.name); old != e.directory->entries.end()) {
            node& before = *old->second;
            if (--before.links == 0 && before.opened == 0) d.used -= before.bytes.size();
            e.directory->entries.erase(old);
        }
        if (e.to == nullptr) continue;
        e.directory->entries[e.name] = e.to;
        if (e.to->links++ == 0 && e.to->opened == 0) d.used += e.to->bytes.size();
    }
    d.names.push_back({++changes_, std::move(entries)});
}

int simulated_disks::open_at(unsigned host, const place& p, const os::open_flags& how, uint32_t permissions) {
    if (free_.empty()) {
        if (open_.size() == static_cast<std::size_t>(most_)) return -EMFILE;
        free_.push_back(static_cast<int>(open_.size()));
        open_.push_back(std::make_unique<open_file>());
    }
    drive& d = of(host);
    node* n = p.at;
    if (n == nullptr && !how.create) return -ENOENT;
    if (n != nullptr && how.create && how.exclusive) return -EEXIST;
    if (n == nullptr ? p.must_be_directory : n->is_directory && (how.write || how.create)) return -EISDIR;
    if (const int error = failure_of(host, file_call::open); error != 0) return error;
    if (n == nullptr) {
        n = &new_node(d, false, permissions);
        change_names(d, {{p.directory, p.name, n}});
    }
    if (how.truncate && !n->bytes.empty()) apply(d, *n, true, 0, {});
    const int i = free_.back();
    free_.pop_back();
    ++n->opened;
    *open_[static_cast<std::size_t>(i)] = {.host = host,
                                           .boot = d.boots,
                                           .of = n,
                                           .reads = how.read,
                                           .writes = how.write,
                                           .appends = how.append,
                                           .syncs = how.data_sync};
    return first_ + i;
}

int simulated_disks::open(const char* path, const os::open_flags& how, uint32_t permissions) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "opens", path); error != 0) return error;
    const int fd = open_at(host, p, how, permissions);
    if (fd >= 0) open_[static_cast<std::size_t>(fd - first_)]->path = path;
    return fd;
}

int simulated_disks::close(int fd) noexcept {
    const auto i = static_cast<std::size_t>(fd - first_);
    if (i >= open_.size() || open_[i]->of == nullptr) return -EBADF;
    const open_file f = std::exchange(*open_[i], {});
    free_.push_back(static_cast<int>(i));
    drive& d = *drives_[f.host];
    const bool is_last = f.boot == d.boots && --f.of->opened == 0;
    if (is_last && f.of->links == 0) d.used -= f.of->bytes.size();
    return 0;
}

int simulated_disks::list(const char* path,
                          void (*each)(void* closure, const char* name, os::file_kind kind),
                          void* closure) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "lists", path); error != 0) return error;
    if (p.at == nullptr) return -ENOENT;
    if (!p.at->is_directory) return -ENOTDIR;
    if (const int error = failure_of(host, file_call::list); error != 0) return error;
    for (const auto& [name, n] : p.at->entries)
        each(closure, name.c_str(), n->is_directory ? os::file_kind::directory : os::file_kind::regular);
    return 0;
}

int simulated_disks::rename(const char* from, const char* to) {
    unsigned host = 0;
    if (const int error = begin(host, "renames", std::string(from) + " to " + to); error != 0) return error;
    drive& d = of(host);
    const place a = find(d, from);
    const place b = find(d, to);
    if (a.error != 0 || b.error != 0) return a.error != 0 ? a.error : b.error;
    if (a.at == nullptr) return -ENOENT;
    if (a.name.empty() || b.name.empty()) return -EBUSY;
    if (a.at == b.at) return 0;
    if (b.must_be_directory && !a.at->is_directory) return -ENOTDIR;
    if (b.at != nullptr && a.at->is_directory != b.at->is_directory) return a.at->is_directory ? -ENOTDIR : -EISDIR;
    if (b.at != nullptr && !b.at->entries.empty()) return -ENOTEMPTY;
    // A directory would lie in itself.
    std::vector<const node*> below{a.at};
    for (std::size_t i = 0; i < below.size(); ++i) {
        if (below[i] == b.directory) return -EINVAL;
        for (const auto& [name, n] : below[i]->entries)
            if (n->is_directory) below.push_back(n);
    }
    if (const int error = failure_of(host, file_call::rename); error != 0) return error;
    change_names(d, {{b.directory, b.name, a.at}, {a.directory, a.name, nullptr}});
    return wait(host);
}

int simulated_disks::unlink(const char* path) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "removes", path); error != 0) return error;
    if (p.at == nullptr) return -ENOENT;
    if (p.at->is_directory) return -EISDIR;
    if (const int error = failure_of(host, file_call::unlink); error != 0) return error;
    change_names(of(host), {{p.directory, p.name, nullptr}});
    return wait(host);
}

int simulated_disks::make_directory(const char* path, uint32_t permissions) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "makes the directory", path); error != 0) return error;
    if (p.at != nullptr) return -EEXIST;
    if (const int error = failure_of(host, file_call::make_directory); error != 0) return error;
    change_names(of(host), {{p.directory, p.name, &new_node(of(host), true, permissions)}});
    return wait(host);
}

int simulated_disks::remove_directory(const char* path) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "removes the directory", path); error != 0) return error;
    if (p.at == nullptr) return -ENOENT;
    if (!p.at->is_directory) return -ENOTDIR;
    if (p.name.empty()) return error_of_removal(path);
    if (!p.at->entries.empty()) return -ENOTEMPTY;
    if (const int error = failure_of(host, file_call::unlink); error != 0) return error;
    change_names(of(host), {{p.directory, p.name, nullptr}});
    return wait(host);
}

void simulated_disks::describe(const node& n, os::file_status& s) const {
    s = {};
    s.kind = n.is_directory ? os::file_kind::directory : os::file_kind::regular;
    s.permissions = n.permissions;
    s.size = static_cast<int64_t>(n.bytes.size());
    s.modified_ns = n.modified_ns;
    s.device = 1;
    s.inode = n.number;
    s.links = n.links;
}

int simulated_disks::status_at(const char* path, os::file_status& s) {
    unsigned host = 0;
    place p;
    if (const int error = begin_at(host, p, "looks at", path); error != 0) return error;
    if (p.at == nullptr) return -ENOENT;
    describe(*p.at, s);
    return 0;
}

int simulated_disks::status_of(int fd, os::file_status& s) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "looks at"); error != 0) return error;
    describe(*f->of, s);
    return 0;
}

// ---- Contents.

void simulated_disks::apply_to(std::string& bytes, const change& c) {
    if (c.cuts) {
        bytes.resize(c.at);
    } else {
        if (bytes.size() < c.at + c.bytes.size()) bytes.resize(c.at + c.bytes.size());
        bytes.replace(c.at, c.bytes.size(), c.bytes);
    }
}

void simulated_disks::apply(drive& d, node& n, bool cuts, uint64_t at, std::string bytes) {
    const std::size_t before = n.bytes.size();
    n.changes.push_back({++changes_, cuts, at, std::move(bytes)});
    apply_to(n.bytes, n.changes.back());
    if (n.links + n.opened != 0) d.used += n.bytes.size() - before;  // modulo 2^64, if it shrinks
    n.modified_ns = run_.now_ns;
}

uint64_t simulated_disks::room_of(const drive& d) noexcept {
    if (d.options.is_full) return 0;
    if (d.options.capacity == 0) return largest_file;
    return d.options.capacity > d.used ? d.options.capacity - d.used : 0;
}

// The changes up to that number.
void simulated_disks::make_safe(drive& d, node& n, uint64_t up_to) {
    std::size_t done = 0;
    for (; done < n.changes.size() && n.changes[done].number <= up_to; ++done) apply_to(n.safe_bytes, n.changes[done]);
    n.changes.erase(n.changes.begin(), n.changes.begin() + static_cast<std::ptrdiff_t>(done));
    if (!n.is_directory) return;
    std::size_t names = 0;
    for (std::size_t i = 0; i < d.names.size() && d.names[i].number <= up_to; ++i) {
        const bool concerns =
            std::ranges::any_of(d.names[i].entries, [&](const entry& e) { return e.directory == &n; });
        if (concerns) names = i + 1;
    }
    make_names_safe(d, names);
}

// The first ones.
void simulated_disks::make_names_safe(drive& d, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        for (const entry& e : d.names[i].entries) {
            e.directory->safe_entries.erase(e.name);
            if (e.to != nullptr) e.directory->safe_entries[e.name] = e.to;
        }
    }
    d.names.erase(d.names.begin(), d.names.begin() + static_cast<std::ptrdiff_t>(count));
}

int64_t simulated_disks::read(int fd, const iovec* into, std::size_t count, int64_t offset) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "reads"); error != 0) return error;
    if (!f->reads) return -EBADF;
    if (f->of->is_directory) return -EISDIR;
    if (const int error = failure_of(f->host, file_call::read); error != 0) return error;
    if (const int error = wait(f->host); error != 0) return error;
    if (f->of == nullptr) return -EBADF;
    uint64_t at = offset == os::own_position ? f->position : static_cast<uint64_t>(offset);
    const uint64_t from = at;
    const std::string& bytes = f->of->bytes;
    for (std::size_t i = 0; i < count && at < bytes.size(); ++i) {
        const std::size_t part = std::min<std::size_t>(into[i].iov_len, bytes.size() - at);
        std::memcpy(into[i].iov_base, bytes.data() + at, part);
        at += part;
    }
    if (offset == os::own_position) f->position = at;
    return static_cast<int64_t>(at - from);
}

int64_t simulated_disks::write(int fd, const iovec* from, std::size_t count, int64_t offset) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "writes"); error != 0) return error;
    if (!f->writes) return -EBADF;
    node& n = *f->of;
    drive& d = of(f->host);
    const unsigned host = f->host;
    const bool syncs = f->syncs;
    if (const int error = failure_of(host, file_call::write); error != 0) return error;
    std::string bytes = gathered(from, count);
    if (bytes.empty()) return 0;
    if (d.options.splits && bytes.size() > 1 && run_.draw(short_write_once_in) == short_write_once_in - 1)
        bytes.resize(1 + run_.draw(static_cast<uint32_t>(std::min<std::size_t>(bytes.size() - 1, short_write_places))));
    const bool at_position = offset == os::own_position;
    uint64_t at = at_position ? f->position : static_cast<uint64_t>(offset);
    if (f->appends) at = n.bytes.size();
    if (at + bytes.size() > largest_file) return -EFBIG;
    const uint64_t end = at + bytes.size();
    const uint64_t room = room_of(d);
    if (end > n.bytes.size() && end - n.bytes.size() > room) {
        const uint64_t last = n.bytes.size() + room;
        if (last <= at) return -ENOSPC;
        bytes.resize(last - at);
    }
    const auto written = static_cast<int64_t>(bytes.size());
    if (at_position) f->position = at + bytes.size();
    apply(d, n, false, at, std::move(bytes));
    const uint64_t last_change = changes_;
    if (const int error = wait(host); error != 0) return error;
    if (syncs && !d.options.sync_lies) make_safe(d, n, last_change);
    return written;
}

int64_t simulated_disks::seek(int fd, int64_t offset, os::seek_from from) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "seeks in"); error != 0) return error;
    int64_t base = 0;
    if (from == os::seek_from::current) base = static_cast<int64_t>(f->position);
    if (from == os::seek_from::end) base = static_cast<int64_t>(f->of->bytes.size());
    if (offset > 0 && base > INT64_MAX - offset) return -EOVERFLOW;
    if (base + offset < 0) return -EINVAL;
    f->position = static_cast<uint64_t>(base + offset);
    return base + offset;
}

int simulated_disks::sync(int fd, bool /*data_only*/) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "syncs"); error != 0) return error;
    node& n = *f->of;
    const unsigned host = f->host;
    const uint64_t up_to = changes_;
    if (const int error = failure_of(host, file_call::sync); error != 0) return error;
    if (const int error = wait(host); error != 0) return error;
    if (of(host).options.sync_lies)
        run_.note("this makes nothing safe: the disk lies");
    else
        make_safe(of(host), n, up_to);
    return 0;
}

int simulated_disks::truncate(int fd, int64_t size) {
    open_file* f = nullptr;
    if (const int error = begin(fd, f, "cuts"); error != 0) return error;
    if (!f->writes || size < 0) return -EINVAL;
    if (static_cast<uint64_t>(size) > largest_file) return -EFBIG;
    drive& d = of(f->host);
    const auto wanted = static_cast<uint64_t>(size);
    const uint64_t now = f->of->bytes.size();
    if (wanted > now && wanted - now > room_of(d)) return -ENOSPC;
    if (const int error = failure_of(f->host, file_call::truncate); error != 0) return error;
    apply(d, *f->of, true, wanted, {});
    return wait(f->host);
}

// ---- A crash.

// Returns how many changes were lost.
std::size_t simulated_disks::lose_contents(const drive& d, node& n, uint32_t way) {
    const std::size_t count = n.changes.size();
    std::size_t lost = 0;
    if (way == nothing) lost = count;
    if (way == everything) {
        for (const change& c : n.changes) apply_to(n.safe_bytes, c);
    } else if (way == some) {
        for (const change& c : n.changes) {
            if (run_.draw(2) == 0)
                apply_to(n.safe_bytes, c);
            else
                ++lost;
        }
    } else if (way == first_ones) {
        lost = run_.draw(static_cast<uint32_t>(count + 1));
        for (std::size_t i = 0; i < count - lost; ++i) apply_to(n.safe_bytes, n.changes[i]);
        change* cut = lost == 0 ? nullptr : &n.changes[count - lost];
        if (cut != nullptr && !cut->cuts) {
            const uint64_t end = cut->at + cut->bytes.size();
            const uint64_t first = cut->at / d.options.sector + 1;  // the first boundary after its begin
            const uint64_t last = (cut->at + cut->bytes.size() - 1) / d.options.sector;
            const uint32_t sectors = last < first ? 0 : run_.draw(static_cast<uint32_t>(last - first + 2));
            if (sectors != 0) {
                cut->bytes.resize((first + sectors - 1) * d.options.sector - cut->at);
                apply_to(n.safe_bytes, *cut);
            }
            if (n.safe_bytes.size() < end && run_.draw(2) != 0) n.safe_bytes.resize(end);
        }
    }
    n.changes.clear();
    return lost;
}

std::size_t simulated_disks::lose_names(drive& d) {
    if (d.names.empty()) return 0;
    const std::size_t lost = run_.draw(static_cast<uint32_t>(d.names.size() + 1));
    make_names_safe(d, d.names.size() - lost);
    d.names.clear();
    return lost;
}

void simulated_disks::crash(unsigned host) {
    drive& d = of(host);
    ++d.boots;
    const bool any = std::ranges::any_of(d.nodes, [](const auto& n) { return !n->changes.empty(); });
    const uint32_t how = any ? run_.draw(ways) : everything;
    std::size_t writes = 0;
    for (const auto& n : d.nodes) {
        if (!n->changes.empty()) writes += lose_contents(d, *n, how);
    }
    const std::size_t names = lose_names(d);
    d.used = 0;
    for (const auto& n : d.nodes) {
        n->links = n->opened = 0;
        n->bytes = n->safe_bytes;
        n->entries = n->safe_entries;
    }
    // Only what the root leads to has entries, because the first changes survive.
    for (const auto& n : d.nodes)
        for (const auto& [name, to] : n->entries)
            if (to->links++ == 0) d.used += to->bytes.size();
    if (writes + names == 0) return;
    run_.note("the disk of " + run_.network().computers.name(host) + " has lost " + counted(writes, "write") + " and " +
              counted(names, "name"));
}

}  // namespace weft::sim
