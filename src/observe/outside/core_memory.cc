// core_memory.cc: the memory in a core file: see memory.h.
//
// What is not in the core, because it was never written, is read from the mapped file. A core file
// of another processor is refused.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>

#include "observe/outside/memory.h"
#include "observe/outside/registers.h"

namespace weft::observe::detail {

namespace {

thread_registers registers_in(const elf_gregset_t& all) noexcept {
    return {all[own_registers.sp_in_core], all[own_registers.pc_in_core], all[own_registers.fp_in_core]};
}

class core_memory : public target_memory {
public:
    core_memory(const std::string& path, std::string program) : path_(path), other_program_(std::move(program)) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat info{};
        if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
            const int error = fd < 0 ? errno : EINVAL;
            if (fd >= 0) ::close(fd);
            throw std::runtime_error("weft: cannot read the core file " + path + ": " + std::strerror(error));
        }
        size_ = static_cast<std::size_t>(info.st_size);
        void* at = size_ == 0 ? MAP_FAILED : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
        ::close(fd);
        if (at == MAP_FAILED) throw_no_core();
        base_ = static_cast<const std::byte*>(at);
        try {
            read_headers();
        } catch (...) {
            ::munmap(const_cast<std::byte*>(base_), size_);
            throw;
        }
    }

    ~core_memory() override {
        ::munmap(const_cast<std::byte*>(base_), size_);
        for (const auto& [name, fd] : opened_) {
            if (fd >= 0) ::close(fd);
        }
    }

    std::size_t read(uint64_t at, void* into, std::size_t size) override {
        std::size_t done = 0;
        while (done < size) {
            std::size_t got = read_core(at + done, static_cast<char*>(into) + done, size - done);
            if (got == 0) got = read_file(at + done, static_cast<char*>(into) + done, size - done);
            if (got == 0) break;
            done += got;
        }
        return done;
    }

    [[nodiscard]] bool is_core() const noexcept override { return true; }

    [[nodiscard]] std::string path_of(const mapped_file& file) const override {
        const bool is_program = !files_.empty() && file.path == files_.front().path;
        return is_program && !other_program_.empty() ? other_program_ : file.path;
    }

    [[nodiscard]] thread_registers registers_of(pid_t tid) override {
        const auto found = threads_.find(tid);
        return found == threads_.end() ? thread_registers{} : found->second;
    }

    [[nodiscard]] int64_t now_ns() const override { return 0; }

    [[nodiscard]] uint64_t page_size() const override { return page_size_; }

    [[nodiscard]] std::string condition() const override { return "core file"; }

private:
    struct segment {
        uint64_t begin;
        uint64_t size;  // in the file
        uint64_t offset;
    };

    [[noreturn]] void throw_no_core() const {
        throw std::runtime_error("weft: " + path_ +
                                 " is neither a process nor a core file of this machine's processor");
    }

    template <typename T>
    [[nodiscard]] T at(uint64_t offset) const {
        T value;
        if (offset > size_ || sizeof(T) > size_ - offset) throw_no_core();
        std::memcpy(&value, base_ + offset, sizeof(T));
        return value;
    }

    void read_headers() {
        const auto header = at<Elf64_Ehdr>(0);
        const bool fits = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                          header.e_type == ET_CORE && header.e_machine == own_registers.machine &&
                          header.e_phentsize == sizeof(Elf64_Phdr);
        if (!fits) throw_no_core();
        uint64_t count = header.e_phnum;
        if (count == PN_XNUM) count = at<Elf64_Shdr>(header.e_shoff).sh_info;  // more than 65534 segments
        for (uint64_t i = 0; i < count; ++i) {
            const auto p = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
            if (p.p_type == PT_NOTE) read_notes(p.p_offset, p.p_filesz);
            if (p.p_type != PT_LOAD || p.p_filesz == 0 || p.p_offset >= size_) continue;
            segments_.push_back({p.p_vaddr, std::min<uint64_t>(p.p_filesz, size_ - p.p_offset), p.p_offset});
        }
        std::sort(segments_.begin(), segments_.end(),
                  [](const segment& a, const segment& b) { return a.begin < b.begin; });
    }

    void read_notes(uint64_t offset, uint64_t size) {
        const auto aligned = [](uint64_t n) { return (n + 3) & ~uint64_t{3}; };
        const uint64_t end = std::min<uint64_t>(offset + size, size_);
        while (offset + sizeof(Elf64_Nhdr) <= end) {
            const auto note = at<Elf64_Nhdr>(offset);
            const uint64_t text = offset + sizeof(note) + aligned(note.n_namesz);
            if (text + note.n_descsz > end) return;
            if (note.n_type == NT_PRSTATUS && note.n_descsz >= sizeof(elf_prstatus)) {
                const auto status = at<elf_prstatus>(text);
                if (threads_.empty()) pid_ = status.pr_pid;
                threads_[status.pr_pid] = registers_in(status.pr_reg);
            } else if (note.n_type == NT_PRPSINFO && note.n_descsz >= sizeof(elf_prpsinfo)) {
                const auto info = at<elf_prpsinfo>(text);
                pid_ = info.pr_pid;
                program_.assign(info.pr_fname, ::strnlen(info.pr_fname, sizeof(info.pr_fname)));
            } else if (note.n_type == NT_FILE) {
                read_files(text, note.n_descsz);
            } else if (note.n_type == NT_AUXV) {
                for (uint64_t i = 0; i + 16 <= note.n_descsz; i += 16) {
                    if (at<uint64_t>(text + i) == AT_PAGESZ) page_size_ = at<uint64_t>(text + i + 8);
                }
            }
            offset = text + aligned(note.n_descsz);
        }
    }

    void read_files(uint64_t offset, uint64_t size) {
        const auto count = at<uint64_t>(offset);
        const auto unit = at<uint64_t>(offset + 8);
        uint64_t name = offset + 16 + count * 24;
        for (uint64_t i = 0; i < count && name < offset + size; ++i) {
            const uint64_t entry = offset + 16 + i * 24;
            const auto* from = reinterpret_cast<const char*>(base_ + name);
            const std::string path(from, ::strnlen(from, offset + size - name));
            name += path.size() + 1;
            files_.push_back({at<uint64_t>(entry), at<uint64_t>(entry + 8), at<uint64_t>(entry + 16) * unit, path});
        }
    }

    std::size_t read_core(uint64_t address, void* into, std::size_t size) const noexcept {
        const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                            [](uint64_t a, const segment& s) { return a < s.begin; });
        if (after == segments_.begin()) return 0;
        const segment& s = *std::prev(after);
        if (address - s.begin >= s.size) return 0;
        const std::size_t count = std::min<uint64_t>(size, s.size - (address - s.begin));
        std::memcpy(into, base_ + s.offset + (address - s.begin), count);
        return count;
    }

    // Of a mapping that the core left out because its pages were as in the file.
    std::size_t read_file(uint64_t address, void* into, std::size_t size) {
        for (const mapped_file& file : files_) {
            if (address < file.begin || address >= file.end) continue;
            const auto [entry, is_new] = opened_.try_emplace(file.path, -1);
            if (is_new) entry->second = ::open(path_of(file).c_str(), O_RDONLY | O_CLOEXEC);
            if (entry->second < 0) return 0;
            const std::size_t most = std::min<uint64_t>(size, file.end - address);
            const ssize_t got =
                ::pread(entry->second, into, most, static_cast<off_t>(file.offset + (address - file.begin)));
            return got < 0 ? 0 : static_cast<std::size_t>(got);
        }
        return 0;
    }

    const std::string path_;
    const std::string other_program_;
    const std::byte* base_ = nullptr;
    std::size_t size_ = 0;
    uint64_t page_size_ = 4096;
    std::vector<segment> segments_;  // by address
    std::map<pid_t, thread_registers> threads_;
    std::map<std::string, int> opened_;  // -1: cannot be opened
};

}  // namespace

std::unique_ptr<target_memory> open_core(const std::string& path, const std::string& program) {
    return std::make_unique<core_memory>(path, program);
}

}  // namespace weft::observe::detail
