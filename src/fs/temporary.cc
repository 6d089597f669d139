// temporary.cc: see weft/fs/temporary.h.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <utility>

#include <weft/backoff.h>
#include <weft/cancel.h>
#include <weft/detail/step.h>
#include <weft/fs/temporary.h>
#include <weft/fs/tree.h>

#include "fs/report.h"

namespace weft::fs {

namespace {

// Others cannot foresee which of these names come next, but the name is no secret. That the file is
// new is what protects it.
constexpr int attempts_max = 100;
constexpr std::size_t random_letters = 12;

// In a simulation the random number may be the same at the same time, so the attempt counts, too.
std::string new_name(const std::string& prefix, const std::string& in, int attempt) {
    constexpr std::string_view letters = "abcdefghijkmnpqrstuvwxyz23456789";
    static_assert(letters.size() == 32);
    std::string path = in.empty() ? temporary_path() : in;
    if (!path.ends_with('/')) path += '/';
    path += prefix;
    uint64_t random = weft::detail::backoff_random() + static_cast<uint64_t>(attempt);
    for (std::size_t i = 0; i < random_letters; ++i, random >>= 5) path += letters[random & 31];
    return path;
}

// Calls make(path) with new names until one does not exist. Returns "" on error.
template <typename F>
std::string make_new(const std::string& prefix, const std::string& in, std::error_code& ec, F make) {
    if (prefix.find('/') != std::string::npos) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return {};
    }
    for (int i = 0; i < attempts_max; ++i) {
        std::string path = new_name(prefix, in, i);
        make(path, ec);
        if (!ec) return path;
        if (ec != std::errc::file_exists) break;
    }
    return {};
}

// A destructor ignores errors, also of memory, and is not interrupted.
template <typename F>
void remove_ignoring_errors(F f) noexcept {
    try {
        shield([&] {
            std::error_code ignored;
            f(ignored);
        });
    } catch (const std::exception&) {
        return;  // std::bad_alloc
    }
}

}  // namespace

std::string temporary_path() {
    if (weft::detail::simulates()) return "/tmp";
    for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
        const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as in any program
        if (value != nullptr && *value != '\0') return value;
    }
    return "/tmp";
}

temporary_directory::temporary_directory(const std::string& prefix, const std::string& in, std::error_code& ec)
    : path_(make_new(prefix, in, ec, [](const std::string& path, std::error_code& e) { mkdir(path, 0700, e); })) {}

temporary_directory::temporary_directory(const std::string& prefix, const std::string& in) {
    std::error_code ec;
    *this = temporary_directory(prefix, in, ec);
    detail::throw_if(ec, "make a temporary directory in", in.empty() ? temporary_path() : in);
}

temporary_directory& temporary_directory::operator=(temporary_directory&& other) noexcept {
    if (this == &other) return *this;
    remove();
    path_ = std::exchange(other.path_, {});
    return *this;
}

void temporary_directory::remove() noexcept {
    if (path_.empty()) return;
    remove_ignoring_errors([this](std::error_code& ec) { remove_all(path_, ec); });
    path_.clear();
}

temporary_file::temporary_file(const std::string& prefix, const std::string& in, std::error_code& ec)
    : path_(make_new(prefix, in, ec, [this](const std::string& path, std::error_code& e) {
          constexpr uint32_t only_this_user = 0600;
          file_ = fs::file(
              path, {.mode = access::read_write, .create = true, .exclusive = true, .permissions = only_this_user}, e);
      })) {}

temporary_file::temporary_file(const std::string& prefix, const std::string& in) {
    std::error_code ec;
    *this = temporary_file(prefix, in, ec);
    detail::throw_if(ec, "make a temporary file in", in.empty() ? temporary_path() : in);
}

temporary_file& temporary_file::operator=(temporary_file&& other) noexcept {
    if (this == &other) return *this;
    remove();
    file_ = std::move(other.file_);
    path_ = std::exchange(other.path_, {});
    return *this;
}

void temporary_file::remove() noexcept {
    if (path_.empty()) return;
    // Windows removes no open file.
    file_.close();
    remove_ignoring_errors([this](std::error_code& ec) { unlink(path_, ec); });
    path_.clear();
}

void temporary_file::keep(const std::string& as, std::error_code& ec) {
    rename(path_, as, ec);
    if (!ec) path_.clear();
}

void temporary_file::keep(const std::string& as) {
    std::error_code ec;
    keep(as, ec);
    detail::throw_if(ec, ("rename to \"" + as + "\" from").c_str(), path_);
}

}  // namespace weft::fs
