// refuse.cc: runs a program without some system calls.
//
//   refuse RULE[,RULE...] -- PROGRAM [ARGUMENT...]
//
// A rule is one of refusals.txt, or the name of a set there. A filter of system calls (seccomp)
// answers the refused ones with an error; it also applies to every process that the program starts.
// It stands for a kernel that is older, or for a container that forbids calls.
//
//   refuse membarrier=ENOSYS -- ./server
//   refuse linux-5.10,io_uring_setup=EPERM -- ctest -L unit
//   refuse --list                     prints the sets and their rules
//   refuse --ask RULE[,RULE...]       makes the call of each rule once, prints how it is answered,
//                                     and ends with 1 if an answer is not that of the rule
//   refuse --table=FILE ...           another file than refusals.txt
//
// If several rules match a call, the first one answers.
//
// Ends with 2 for a mistake in the command line or the table, with 3 if the system allows no
// filter, with 127 if the program cannot be started.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void fail(int status, const std::string& text) {
    std::fprintf(stderr, "refuse: %s\n", text.c_str());
    std::exit(status);  // NOLINT(concurrency-mt-unsafe): the only thread
}

struct named {
    std::string_view name;
    long value;
};

#define CALL(name) {#name, SYS_##name}  // NOLINT(cppcoreguidelines-macro-usage): names and numbers

// A call that is missing here may be given by its number.
constexpr named calls[] = {
    CALL(accept4),
    CALL(acct),
    CALL(add_key),
    CALL(bpf),
    CALL(clock_settime),
    CALL(clone),
    CALL(clone3),
    CALL(close_range),
    CALL(copy_file_range),
    CALL(delete_module),
    CALL(epoll_create1),
    CALL(epoll_pwait2),
    CALL(eventfd2),
    CALL(execve),
    CALL(faccessat2),
    CALL(fanotify_init),
    CALL(fcntl),
    CALL(finit_module),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(fsopen),
    CALL(fspick),
    CALL(futex),
    CALL(get_mempolicy),
    CALL(getppid),
    CALL(getrandom),
    CALL(init_module),
    CALL(io_pgetevents),
    CALL(io_uring_enter),
    CALL(io_uring_register),
    CALL(io_uring_setup),
    CALL(ioctl),
    CALL(kcmp),
    CALL(kexec_load),
    CALL(keyctl),
    CALL(lookup_dcookie),
    CALL(madvise),
    CALL(mbind),
    CALL(membarrier),
    CALL(memfd_create),
    CALL(migrate_pages),
    CALL(mmap),
    CALL(mount),
    CALL(mount_setattr),
    CALL(move_mount),
    CALL(move_pages),
    CALL(name_to_handle_at),
    CALL(open_by_handle_at),
    CALL(open_tree),
    CALL(openat2),
    CALL(perf_event_open),
    CALL(personality),
    CALL(pidfd_getfd),
    CALL(pidfd_open),
    CALL(pidfd_send_signal),
    CALL(pivot_root),
    CALL(pkey_alloc),
    CALL(prctl),
    CALL(preadv2),
    CALL(process_madvise),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(pwritev2),
    CALL(quotactl),
    CALL(quotactl_fd),
    CALL(reboot),
    CALL(request_key),
    CALL(rseq),
    CALL(rt_tgsigqueueinfo),
    CALL(sched_getaffinity),
    CALL(sched_getattr),
    CALL(sched_setaffinity),
    CALL(sched_setattr),
    CALL(sched_setparam),
    CALL(sendfile),
    CALL(set_mempolicy),
    CALL(set_mempolicy_home_node),
    CALL(setdomainname),
    CALL(sethostname),
    CALL(setns),
    CALL(setpriority),
    CALL(setsockopt),
    CALL(settimeofday),
    CALL(socket),
    CALL(statx),
    CALL(swapoff),
    CALL(swapon),
    CALL(syslog),
    CALL(timer_create),
    CALL(umount2),
    CALL(unshare),
    CALL(userfaultfd),
    CALL(vhangup),
    CALL(vmsplice),
    CALL(waitid),
#if defined(__x86_64__)
    CALL(ioperm),
    CALL(iopl),
    CALL(kexec_file_load),
    CALL(sysfs),
    CALL(uselib),
    CALL(ustat),
#endif
};

constexpr named errors[] = {
    {"EINVAL", EINVAL}, {"EIO", EIO},       {"ENODEV", ENODEV},         {"ENOPROTOOPT", ENOPROTOOPT},
    {"ENOSYS", ENOSYS}, {"ENOTTY", ENOTTY}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},
};

#if defined(__x86_64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_X86_64;
constexpr bool has_numbers_of_table = true;
#elif defined(__aarch64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_AARCH64;
constexpr bool has_numbers_of_table = false;
#endif

// Numbers from here on mean the same call for every processor. Those below are x86-64's in the
// table.
constexpr long first_common_call = 424;
constexpr unsigned arguments_max = 6;
constexpr std::size_t conditions_max = 2;
constexpr std::size_t filter_max = BPF_MAXINSNS;

struct condition {
    unsigned argument = 0;
    bool is_mask = false;
    uint32_t value = 0;
};

struct rule {
    std::string text;
    long call = 0;
    bool and_above = false;
    uint32_t error = 0;
    std::vector<condition> conditions;
};

using table = std::map<std::string, std::vector<rule>, std::less<>>;

std::optional<long> value_of(const named* first, const named* last, std::string_view name) {
    for (; first != last; ++first) {
        if (first->name == name) return first->value;
    }
    return std::nullopt;
}

std::optional<unsigned long> number(const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text.c_str(), &end, 0);
    if (text.empty() || *end != '\0' || errno != 0 || value > UINT32_MAX) return std::nullopt;
    return value;
}

// "2==102" or "0&0x1000"
condition read_condition(const std::string& text, const std::string& whole) {
    const std::size_t at = text.find_first_of("=&");
    const bool is_mask = at != std::string::npos && text[at] == '&';
    const bool is_value = at != std::string::npos && text.compare(at, 2, "==") == 0;
    if (!is_mask && !is_value) fail(2, whole + ": a condition is ARGUMENT==VALUE or ARGUMENT&BITS, not " + text);
    const auto argument = number(text.substr(0, at));
    const auto value = number(text.substr(at + (is_mask ? 1 : 2)));
    if (!argument || *argument >= arguments_max) fail(2, whole + ": arguments are counted from 0 to 5");
    if (!value) fail(2, whole + ": the value is not a number of 32 bits");
    return {static_cast<unsigned>(*argument), is_mask, static_cast<uint32_t>(*value)};
}

rule read_rule(const std::string& text) {
    rule r;
    r.text = text;
    const std::size_t bracket = text.find('[');
    const std::size_t closing = text.find(']');
    const std::size_t equals = text.find('=', closing == std::string::npos ? 0 : closing);
    if (equals == std::string::npos || (bracket == std::string::npos) != (closing == std::string::npos))
        fail(2, text + " is neither a set nor a rule; a rule is CALL=ERRNO or CALL[CONDITION]=ERRNO");

    std::string name = text.substr(0, std::min(bracket, equals));
    if (name.ends_with("..")) {
        r.and_above = true;
        name.resize(name.size() - 2);
    }
    const auto known = value_of(std::begin(calls), std::end(calls), name);
    const auto counted = number(name);
    if (!known && !counted) fail(2, text + ": there is no call " + name + " in refuse.cc; use its number");
    r.call = known ? *known : static_cast<long>(*counted);

    const auto error = value_of(std::begin(errors), std::end(errors), std::string_view(text).substr(equals + 1));
    if (!error) fail(2, text + ": refuse.cc does not know the error " + text.substr(equals + 1));
    r.error = static_cast<uint32_t>(*error);

    if (bracket == std::string::npos) return r;
    std::string inside = text.substr(bracket + 1, closing - bracket - 1);
    for (std::size_t begin = 0; begin <= inside.size();) {
        const std::size_t end = std::min(inside.find(';', begin), inside.size());
        r.conditions.push_back(read_condition(inside.substr(begin, end - begin), text));
        begin = end + 1;
    }
    if (r.conditions.size() > conditions_max) fail(2, text + ": more than two conditions");
    return r;
}

bool is_rule(std::string_view text) { return text.find('=') != std::string_view::npos; }

// A number of x86-64 means another call elsewhere.
bool applies_here(const rule& r) { return has_numbers_of_table || !r.and_above || r.call >= first_common_call; }

void append(std::vector<rule>& rules, const table& sets, const std::string& text) {
    if (is_rule(text)) {
        rules.push_back(read_rule(text));
        return;
    }
    const auto set = sets.find(text);
    if (set == sets.end()) fail(2, "there is no set " + text + "; refuse --list prints the sets");
    rules.insert(rules.end(), set->second.begin(), set->second.end());
}

table read_table(const std::string& path, std::vector<std::string>& order) {
    std::ifstream file(path);
    if (!file) fail(2, "cannot read " + path + ", the table of sets; name another with --table=FILE");
    table sets;
    std::string line;
    while (std::getline(file, line)) {
        line.resize(std::min(line.find('#'), line.size()));
        while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
        line.erase(0, line.find_first_not_of(" \t"));
        if (line.empty()) continue;
        if (line.front() == '[' && line.back() == ']') {
            order.push_back(line.substr(1, line.size() - 2));
            if (!sets.emplace(order.back(), std::vector<rule>()).second) fail(2, path + ": two sets " + order.back());
        } else {
            if (order.empty()) fail(2, path + ": a rule before the first set: " + line);
#if !defined(__x86_64__)
            // Calls that only x86-64 has.
            const std::string name = line.substr(0, line.find_first_of("=[."));
            if (is_rule(line) && !value_of(std::begin(calls), std::end(calls), name) && !number(name)) continue;
#endif
            append(sets[order.back()], sets, line);
        }
    }
    return sets;
}

// ---- The filter.

using code = std::vector<sock_filter>;

constexpr uint8_t to_end_of_rule = 0xff;  // replaced

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

// The lower half of an argument; both processors are little-endian.
std::size_t offset_of(unsigned argument) { return offsetof(seccomp_data, args) + argument * sizeof(uint64_t); }

code compile(const rule& r) {
    code c;
    const auto call = static_cast<uint32_t>(r.call);
    c.push_back(load(offsetof(seccomp_data, nr)));
    c.push_back(r.and_above ? sock_filter BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, call, 0, to_end_of_rule)
                            : sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, to_end_of_rule));
    for (const condition& when : r.conditions) {
        c.push_back(load(offset_of(when.argument)));
        c.push_back(when.is_mask ? sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, when.value, 0, to_end_of_rule)
                                 : sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, when.value, 0, to_end_of_rule));
    }
    c.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | r.error));
    for (std::size_t i = 0; i < c.size(); ++i) {
        if (c[i].jf == to_end_of_rule) c[i].jf = static_cast<uint8_t>(c.size() - i - 1);
    }
    return c;
}

// Programs for another processor, which use other numbers, are not filtered.
code compile(const std::vector<rule>& rules) {
    code c = {load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, this_architecture, 1, 0),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    for (const rule& r : rules) {
        if (!applies_here(r)) continue;
        const code one = compile(r);
        c.insert(c.end(), one.begin(), one.end());
    }
    c.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    if (c.size() > filter_max) fail(2, "too many rules for one filter");
    return c;
}

void install(code& c) {
    const sock_fprog filter{.len = static_cast<unsigned short>(c.size()), .filter = c.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        fail(3, std::string("this system allows no filter of system calls: ") + std::strerror(errno));
}

// ---- Asking.

// Arguments that only the conditions determine. The calls of the table do nothing with zeros.
struct asked_call {
    long number;
    unsigned long arguments[arguments_max];
};

asked_call example_of(const rule& r) {
    asked_call a{.number = r.call, .arguments = {}};
    for (const condition& when : r.conditions) a.arguments[when.argument] |= when.value;
    return a;
}

bool matches(const rule& r, const asked_call& a) {
    if (r.and_above ? a.number < r.call : a.number != r.call) return false;
    for (const condition& when : r.conditions) {
        const auto value = static_cast<uint32_t>(a.arguments[when.argument]);
        if (when.is_mask ? (value & when.value) == 0 : value != when.value) return false;
    }
    return true;
}

// Whether the call is answered as the first rule that matches it says.
bool is_refused(const std::vector<rule>& rules, const rule& r) {
    const asked_call asked = example_of(r);
    const auto& a = asked.arguments;
    errno = 0;
    const long result = ::syscall(asked.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const int error = result == -1 ? errno : 0;
    const auto first = std::find_if(rules.begin(), rules.end(),
                                    [&](const rule& other) { return applies_here(other) && matches(other, asked); });
    const bool refused = error == static_cast<int>(first->error);
    std::printf("%-50s %s\n", r.text.c_str(),
                refused ? "refused" : std::strerror(error));  // NOLINT(concurrency-mt-unsafe): as above
    return refused;
}

std::vector<rule> read_rules(const char* list, const table& sets) {
    std::vector<rule> rules;
    std::string text = list;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        append(rules, sets, text.substr(begin, end - begin));
        begin = end + 1;
    }
    return rules;
}

int print(const table& sets, const std::vector<std::string>& order) {
    for (const std::string& name : order) {
        std::printf("%s", name.c_str());
        for (const rule& r : sets.find(name)->second) std::printf(" %s", r.text.c_str());
        std::printf("\n");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string path = WEFT_REFUSALS;
    int at = 1;
    if (at < argc && std::strncmp(argv[at], "--table=", 8) == 0) path = argv[at++] + 8;
    std::vector<std::string> order;
    const table sets = read_table(path, order);

    if (argc - at == 1 && std::strcmp(argv[at], "--list") == 0) return print(sets, order);
    if (argc - at == 2 && std::strcmp(argv[at], "--ask") == 0) {
        bool refused = true;
        const std::vector<rule> rules = read_rules(argv[at + 1], sets);
        for (const rule& r : rules) {
            if (applies_here(r) && !is_refused(rules, r)) refused = false;
        }
        return refused ? 0 : 1;
    }
    if (argc - at < 3 || std::strcmp(argv[at + 1], "--") != 0)
        fail(
            2,
            "usage: refuse [--table=FILE] RULE[,RULE...] -- PROGRAM [ARGUMENT...], or --list, or --ask RULE[,RULE...]");

    code filter = compile(read_rules(argv[at], sets));
    install(filter);
    ::execvp(argv[at + 2], argv + at + 2);
    fail(127, std::string("cannot start ") + argv[at + 2] + ": " + std::strerror(errno));
}
