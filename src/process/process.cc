// process.cc: see weft/process.h.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/process.h>
#include <weft/scope.h>

#include "net/report.h"
#include "os/fd_calls.h"
#include "os/process_calls.h"
#include "process/child.h"
#include "process/reaper.h"
#include "sched/simulation.h"

namespace weft {

namespace {

namespace os = detail::os;
using detail::child;
using detail::fd_handle;
using detail::io_result;
using net::detail::code_of;
using net::detail::throw_result;

constexpr int largest_signal = 64;

// Returns nullptr if all is valid.
const char* mistake_in(const std::vector<std::string>& command, const process_options& options) noexcept {
    const auto has_zero = [](const std::string& text) { return text.find('\0') != std::string::npos; };
    if (command.empty() || command[0].empty()) return " (the command is empty: its first word must name a program)";
    for (const std::string& word : command) {
        if (has_zero(word)) return " (a word of the command contains a zero byte)";
    }
    if (has_zero(options.directory)) return " (the directory contains a zero byte)";
    for (const passed_descriptor& d : options.descriptors) {
        if (d.fd < 0 || d.number < 3) return " (a passed descriptor must be open, and its number be from 3 on)";
        const auto same = [&](const passed_descriptor& other) { return other.number == d.number; };
        if (std::count_if(options.descriptors.begin(), options.descriptors.end(), same) != 1)
            return " (two passed descriptors have the same number)";
    }
    if (options.nice && (*options.nice < -20 || *options.nice > 19)) return " (nice must be from -20 to 19)";
    for (const resource_limit& l : options.limits) {
        if (l.soft > l.hard) return " (a soft limit is above its hard limit)";
    }
    if (!options.environment) return nullptr;
    for (const std::string& variable : *options.environment) {
        if (has_zero(variable)) return " (a variable of the environment contains a zero byte)";
        if (variable.find('=', 1) == std::string::npos)
            return " (a variable of the environment must have the form NAME=value)";
    }
    return nullptr;
}

const char* advice(const std::error_code& ec) noexcept {
    if (ec == std::errc::no_such_file_or_directory)
        return " (check the name of the program, PATH, and process_options::directory)";
    if (ec == std::errc::not_supported)
        return " (this system cannot pass descriptors, set nice and limits, and change the user of a program)";
    if (ec == std::errc::operation_not_permitted)
        return " (process_options: another user, a lower nice and a higher limit need privileges)";
    if (ec == std::errc::bad_file_descriptor) return " (process_options::descriptors: one is not open)";
    if (ec == std::errc::permission_denied)
        return " (check the permissions to execute the program and to enter the directory)";
    if (ec == std::errc::executable_format_error) return " (the file is not a program for this machine)";
    if (ec == std::errc::argument_list_too_long) return " (shorten the command line or the environment)";
    if (ec == std::errc::too_many_files_open) return " (close some files, or raise the limit: ulimit -n)";
    return "";
}

const char* why_not_killed(const std::error_code& ec, const char* otherwise) noexcept {
    if (ec == std::errc::operation_not_supported)
        return " (this system has only SIGINT, SIGTERM and 9, the number of SIGKILL)";
    return otherwise;
}

std::string started_what(const std::vector<std::string>& command) {
    return "weft: start " + (command.empty() ? std::string("a program") : '"' + command[0] + '"');
}

os::group_kind kind_of(process_group group) noexcept {
    switch (group) {
        case process_group::own:
            return os::group_kind::own;
        case process_group::own_session:
            return os::group_kind::own_session;
        default:
            return os::group_kind::inherited;
    }
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> all;
    all.reserve(strings.size() + 1);
    for (const std::string& s : strings) all.push_back(const_cast<char*>(s.c_str()));  // only read
    all.push_back(nullptr);
    return all;
}

// The parts of the options that the new process sets itself.
class set_up_of {
public:
    explicit set_up_of(const process_options& options) {
        static_assert(static_cast<int>(resource::stack_size) == static_cast<int>(os::limited::stack_size));
        for (const passed_descriptor& d : options.descriptors) descriptors_.push_back({d.fd, d.number});
        for (const resource_limit& l : options.limits)
            limits_.push_back({static_cast<os::limited>(l.what), l.soft, l.hard});
        all_ = {.descriptors = descriptors_.data(),
                .descriptor_count = descriptors_.size(),
                .has_nice = options.nice.has_value(),
                .nice = options.nice.value_or(0),
                .limits = limits_.data(),
                .limit_count = limits_.size(),
                .has_user = options.user.has_value()};
        if (!options.user) return;
        all_.user = options.user->user;
        all_.group = options.user->group;
        all_.further_groups = options.user->further_groups.data();
        all_.further_group_count = options.user->further_groups.size();
    }

    set_up_of(const set_up_of&) = delete;
    set_up_of& operator=(const set_up_of&) = delete;

    // nullptr: nothing to set.
    [[nodiscard]] const os::program_set_up* get() const noexcept {
        const bool any = all_.descriptor_count != 0 || all_.has_nice || all_.limit_count != 0 || all_.has_user;
        return any ? &all_ : nullptr;
    }

private:
    std::vector<os::passed_fd> descriptors_;
    std::vector<os::limit_request> limits_;
    os::program_set_up all_;
};

class owned_fd {
public:
    owned_fd() noexcept = default;

    ~owned_fd() {
        if (fd >= 0) os::fd_close(fd);
    }

    owned_fd(const owned_fd&) = delete;
    owned_fd& operator=(const owned_fd&) = delete;

    [[nodiscard]] int release() noexcept { return std::exchange(fd, -1); }

    int fd = -1;
};

// The program's end, and ours.
struct standard {
    owned_fd theirs;
    owned_fd ours;

    // Returns the value for the request. result: 0, or minus errno's value.
    [[nodiscard]] int make(stdio what, bool program_reads, int& result) noexcept {
        result = 0;
        if (what == stdio::inherit) return os::std_inherited;
        if (what == stdio::null) return os::std_null;
        result = program_reads ? os::pipe_make(theirs.fd, ours.fd) : os::pipe_make(ours.fd, theirs.fd);
        return theirs.fd;
    }
};

}  // namespace

std::string exit_status::to_string() const {
    if (signal == 0) return "ended with status " + std::to_string(code);
    return "was killed by signal " + std::to_string(signal) + (core_dumped ? " (core dumped)" : "");
}

process::process() noexcept = default;

process::process(process&& other) noexcept
    : child_(std::move(other.child_)),
      pid_(std::exchange(other.pid_, 0)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

process& process::operator=(process&& other) noexcept {
    if (this != &other) {
        detach();
        child_ = std::move(other.child_);
        pid_ = std::exchange(other.pid_, 0);
        in_ = std::move(other.in_);
        out_ = std::move(other.out_);
        err_ = std::move(other.err_);
    }
    return *this;
}

process::~process() { detach(); }

process::process(const std::vector<std::string>& command, const process_options& options, std::error_code& ec)
    : process() {  // from here on the destructor cleans up
    ec.clear();
    if (mistake_in(command, options) != nullptr) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return;
    }
    if (detail::escapes_simulation("starts a process, which a simulation cannot control")) {
        ec = std::make_error_code(std::errc::operation_not_supported);
        return;
    }
    detail::reap_known();
    const std::vector<char*> arguments = pointers_to(command);
    const std::vector<char*> environment =
        options.environment ? pointers_to(*options.environment) : std::vector<char*>();
    const set_up_of set_up(options);
    if (set_up.get() != nullptr && !os::can_set_up_programs()) {
        ec = std::make_error_code(std::errc::not_supported);
        return;
    }
    standard streams[3];
    const stdio wanted[3] = {options.in, options.out, options.err};
    os::spawn_request request{.arguments = arguments.data(),
                              .environment = options.environment ? environment.data() : nullptr,
                              .directory = options.directory.empty() ? nullptr : options.directory.c_str(),
                              .standard = {},
                              .group = kind_of(options.group.value_or(process_group::inherit)),
                              .set_up = set_up.get()};
    int result = 0;
    for (int i = 0; i < 3 && result == 0; ++i) request.standard[i] = streams[i].make(wanted[i], i == 0, result);
    int descriptor = -1;
    if (result == 0) result = blocking([&] { return os::process_spawn(request, pid_, descriptor); });
    if (result < 0) {
        pid_ = 0;
        ec.assign(-result, std::generic_category());
        return;
    }
    const bool leads_group = request.group != os::group_kind::inherited;
    fd_handle handle;
    try {
        if (descriptor >= 0) handle = fd_handle(descriptor);
        child_ = std::make_unique<child>(pid_, std::move(handle), leads_group);
    } catch (const std::bad_alloc&) {
        detail::reap_later(handle.detach(), pid_);
        throw;
    }
    if (streams[0].ours.fd >= 0) in_ = pipe_writer::adopt(streams[0].ours.release());
    if (streams[1].ours.fd >= 0) out_ = pipe_reader::adopt(streams[1].ours.release());
    if (streams[2].ours.fd >= 0) err_ = pipe_reader::adopt(streams[2].ours.release());
}

process::process(const std::vector<std::string>& command, const process_options& options) {
    std::error_code ec;
    process made(command, options, ec);
    if (ec) {
        const char* mistake = mistake_in(command, options);
        throw std::system_error(ec, started_what(command) + (mistake != nullptr ? mistake : advice(ec)));
    }
    *this = std::move(made);
}

void process::detach() noexcept {
    in_.close();
    out_.close();
    err_.close();
    pid_ = 0;
    if (child_ == nullptr) return;
    child_->leave();
    child_.reset();
}

namespace {

constexpr const char* forgotten =
    "weft: wait for a process (its exit status is lost: SIGCHLD is ignored, or another part of this program waits for "
    "any child)";
constexpr const char* none_there = "weft: wait for a process (there is none: it was not started, or it was detached)";

}  // namespace

exit_status process::wait(std::error_code& ec) {
    exit_status status;
    if (child_ == nullptr) {
        ec = std::make_error_code(std::errc::no_such_process);
        return status;
    }
    ec = code_of(child_->wait(status, detail::never));
    return status;
}

exit_status process::wait() { return wait_until_ns(detail::never).value_or(exit_status{}); }  // always has a value

std::optional<exit_status> process::wait_until_ns(int64_t deadline_ns) {
    if (child_ == nullptr) throw std::system_error(std::make_error_code(std::errc::no_such_process), none_there);
    exit_status status;
    const io_result r = child_->wait(status, deadline_ns);
    if (r.ended == io_result::how::timed_out) return std::nullopt;
    if (r.ended != io_result::how::done) throw_result(r, r.error == ECHILD ? forgotten : "weft: wait for a process");
    return status;
}

bool process::kill(int signal, std::error_code& ec) {
    ec.clear();
    if (signal < 1 || signal > largest_signal) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return false;
    }
    const int error = child_ == nullptr ? ESRCH : child_->kill(signal);
    if (error == 0) return true;
    if (error != ESRCH) ec.assign(error, std::generic_category());
    return false;
}

bool process::kill(int signal) {
    std::error_code ec;
    const bool sent = kill(signal, ec);
    if (ec == std::errc::invalid_argument)
        throw std::system_error(ec, "weft: kill a process with signal " + std::to_string(signal) +
                                        " (signals are numbered from 1 to 64: SIGTERM, SIGKILL …)");
    if (ec)
        throw std::system_error(
            ec, std::string("weft: kill a process") + why_not_killed(ec, " (it now runs as another user)"));
    return sent;
}

bool process::kill_group(int signal, std::error_code& ec) {
    ec.clear();
    if (signal < 1 || signal > largest_signal) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return false;
    }
    const int error = child_ == nullptr ? ESRCH : child_->kill_group(signal);
    if (error == 0) return true;
    if (error != ESRCH) ec.assign(error, std::generic_category());
    return false;
}

bool process::kill_group(int signal) {
    std::error_code ec;
    const bool sent = kill_group(signal, ec);
    if (ec == std::errc::invalid_argument)
        throw std::system_error(ec, "weft: kill the group of a process with signal " + std::to_string(signal) +
                                        " (start it with process_options::group = process_group::own; signals are "
                                        "numbered from 1 to 64)");
    if (ec)
        throw std::system_error(ec, std::string("weft: kill the group of a process") +
                                        why_not_killed(ec, " (its processes belong to another user)"));
    return sent;
}

namespace {

std::string all_of(pipe_reader& from) {
    std::string text;
    std::size_t done = 0;
    for (std::size_t room = 4096;; room *= 2) {
        text.resize(room);
        done += from.read(net::mutable_buffer(text.data() + done, room - done));
        if (done < room) break;
    }
    text.resize(done);
    return text;
}

// Ends the program if the caller is interrupted.
class tethered {
public:
    tethered(process& p, bool leads_group) noexcept : p_(p), leads_group_(leads_group) {}

    ~tethered() {
        if (ended_) return;
        std::error_code ignored;
        if (leads_group_) {
            p_.kill_group(os::kill_signal, ignored);
        } else {
            p_.kill(os::kill_signal, ignored);
        }
        shield([&] { p_.wait(ignored); });
    }

    tethered(const tethered&) = delete;
    tethered& operator=(const tethered&) = delete;

    exit_status wait() {
        const exit_status status = p_.wait();
        ended_ = true;
        return status;
    }

private:
    process& p_;
    bool leads_group_;
    bool ended_ = false;
};

}  // namespace

process_output run_process(const std::vector<std::string>& command, net::const_buffer input, process_options options) {
    options.in = input.size() == 0 ? stdio::null : stdio::pipe;
    options.out = stdio::pipe;
    options.err = stdio::pipe;
    const process_group group = options.group.value_or(process_group::own);
    options.group = group;
    process p(command, options);
    tethered held(p, group != process_group::inherit);
    process_output result;
    scope([&](auto& s) {
        s.go([&] {
            std::error_code ec;
            if (input.size() != 0) p.in().write_all(input, ec);  // it need not read all of it
            p.in().close();
        });
        s.go([&] { result.err = all_of(p.err()); });
        result.out = all_of(p.out());
    });
    result.status = held.wait();
    return result;
}

}  // namespace weft
