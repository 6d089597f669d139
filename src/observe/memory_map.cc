// memory_map.cc: see memory_map.h.
#include "observe/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "os/os.h"

namespace weft::observe::detail {

namespace {

// A line is longer than this only if the path of its file is.
constexpr std::size_t line_size = 512;

class line_reader {
public:
    explicit line_reader(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}

    ~line_reader() {
        if (fd_ >= 0) ::close(fd_);
    }

    line_reader(const line_reader&) = delete;
    line_reader& operator=(const line_reader&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

    // The next line, cut after line_size bytes, with a zero instead of its end. nullptr: no more.
    [[nodiscard]] const char* next() noexcept {
        std::size_t length = 0;
        for (;;) {
            if (at_ == filled_ && !fill()) {
                if (length == 0) return nullptr;
                break;
            }
            const char c = buffer_[at_++];
            if (c == '\n') break;
            if (length < line_size - 1) line_[length++] = c;
        }
        line_[length] = '\0';
        return line_;
    }

private:
    bool fill() noexcept {
        const ssize_t got = ::read(fd_, buffer_, sizeof(buffer_));
        at_ = 0;
        filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        return filled_ != 0;
    }

    int fd_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    char line_[line_size];
    char buffer_[8192];
};

uintptr_t hexadecimal(const char*& text) noexcept {
    uintptr_t value = 0;
    for (;; ++text) {
        const char c = *text;
        if (c >= '0' && c <= '9') {
            value = value * 16 + static_cast<uintptr_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + static_cast<uintptr_t>(c - 'a' + 10);
        } else {
            return value;
        }
    }
}

const char* skip_word(const char* text) noexcept {
    while (*text != ' ' && *text != '\0') ++text;
    while (*text == ' ') ++text;
    return text;
}

bool begins_with(const char* text, const char* with) noexcept {
    return std::strncmp(text, with, std::strlen(with)) == 0;
}

// 7f0000000000-7f0000021000 rw-p 00000000 00:00 0    [heap]
memory_mapping parse(const char* line) noexcept {
    memory_mapping m;
    m.low = hexadecimal(line);
    if (*line == '-') ++line;
    m.high = hexadecimal(line);
    const char* flags = skip_word(line);
    m.readable = flags[0] == 'r';
    m.writable = m.readable && flags[1] == 'w';
    m.shared = m.writable && flags[2] != '\0' && flags[3] == 's';
    const char* name = skip_word(skip_word(skip_word(skip_word(flags))));
    m.anonymous = *name == '\0' || *name == '[';
    m.in_memory = begins_with(name, "/dev/zero") || begins_with(name, "/memfd:") || begins_with(name, "/dev/shm/") ||
                  begins_with(name, "/SYSV");
    m.main_heap = begins_with(name, "[heap]");
    m.main_stack = begins_with(name, "[stack]");
    return m;
}

// A fault becomes an error.
bool can_be_read(uintptr_t address) noexcept {
    char byte = 0;
    const iovec to{&byte, 1};
    const iovec from{reinterpret_cast<void*>(address), 1};
    return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

void* map_zeroed(std::size_t size) noexcept {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

bool read_memory_map(page_array<memory_mapping>& into) noexcept {
    line_reader lines("/proc/self/maps");
    if (!lines.is_open()) return false;
    while (const char* line = lines.next()) {
        if (!into.add(parse(line))) return false;
    }
    return into.size() != 0;
}

page_table_reader::page_table_reader() noexcept : fd_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

page_table_reader::~page_table_reader() {
    if (fd_ >= 0) ::close(fd_);
}

bool page_table_reader::exists(uintptr_t address) noexcept {
    constexpr uint64_t present = uint64_t{1} << 63;
    constexpr uint64_t swapped = uint64_t{1} << 62;  // also of a page in a guard region …
    constexpr uint64_t guard = uint64_t{1} << 58;    // … which has this, too, from Linux 6.15 on
    const uintptr_t number = address / weft::detail::os::page_size();
    if (fd_ >= 0 && (number < first_ || number - first_ >= count_)) {
        const ssize_t got = ::pread(fd_, known_, sizeof(known_), static_cast<off_t>(number * sizeof(uint64_t)));
        first_ = number;
        count_ = got > 0 ? static_cast<std::size_t>(got) / sizeof(uint64_t) : 0;
    }
    if (fd_ < 0 || count_ == 0) return can_be_read(address);
    const uint64_t entry = known_[number - first_];
    if ((entry & guard) != 0) return false;
    return (entry & present) != 0 || ((entry & swapped) != 0 && can_be_read(address));
}

}  // namespace weft::observe::detail
