// cgroup.cc: see cgroup.h.
#include "os/cgroup.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::detail::os {

namespace {

bool read_text(const char* path, char* text, size_t size) noexcept {
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) return false;
    const size_t got = std::fread(text, 1, size - 1, file);
    text[got] = '\0';
    std::fclose(file);
    return got > 0;
}

// Parses "quota period" or "max period"; returns 0 for max.
double parse_v2(const char* text) noexcept {
    char* end = nullptr;
    const double quota = std::strtod(text, &end);
    if (end == text) return 0;
    const double period = std::strtod(end, nullptr);
    return period > 0 && quota > 0 ? quota / period : 0;
}

bool read_in(const char* directory, const char* file, char* text, size_t size) noexcept {
    char path[PATH_MAX];
    const int length = std::snprintf(path, sizeof(path), "%s/%s", directory, file);
    return length > 0 && length < static_cast<int>(sizeof(path)) && read_text(path, text, size);
}

double quota_of(const char* directory, bool v2) noexcept {
    char text[128];
    if (v2) return read_in(directory, "cpu.max", text, sizeof(text)) ? parse_v2(text) : 0;
    if (!read_in(directory, "cpu.cfs_quota_us", text, sizeof(text))) return 0;
    const double quota = std::strtod(text, nullptr);
    if (!read_in(directory, "cpu.cfs_period_us", text, sizeof(text))) return 0;
    const double period = std::strtod(text, nullptr);
    return quota > 0 && period > 0 ? quota / period : 0;
}

// Walks from root + path up to root.
double tightest(const char* root, const char* path, bool v2) noexcept {
    char directory[PATH_MAX];
    const int used = std::snprintf(directory, sizeof(directory), "%s%s", root, path);
    if (used < 0 || used >= static_cast<int>(sizeof(directory))) return 0;
    const size_t root_length = std::strlen(root);
    double least = 0;
    for (;;) {
        const double quota = quota_of(directory, v2);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
        char* slash = std::strrchr(directory, '/');
        if (slash == nullptr || static_cast<size_t>(slash - directory) < root_length) return least;
        *slash = '\0';
    }
}

bool names_cpu(const char* names) noexcept {
    for (const char* at = names; (at = std::strstr(at, "cpu")) != nullptr; ++at) {
        const bool starts = at == names || at[-1] == ',';
        if (starts && (at[3] == '\0' || at[3] == ',')) return true;
    }
    return false;
}

}  // namespace

double cgroup_cpu_quota(const char* membership_file, const char* mount) noexcept {
    std::FILE* file = std::fopen(membership_file, "re");
    if (file == nullptr) return 0;
    char line[PATH_MAX];
    double least = 0;
    // Lines have the form "id:controllers:path"; v2 has no controllers.
    while (std::fgets(line, sizeof(line), file) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        char* names = std::strchr(line, ':');
        char* path = names == nullptr ? nullptr : std::strchr(names + 1, ':');
        if (path == nullptr) continue;
        *path++ = '\0';
        ++names;
        if (std::strcmp(path, "/") == 0) path[0] = '\0';
        double quota = 0;
        if (*names == '\0') {
            quota = tightest(mount, path, true);
        } else if (names_cpu(names)) {
            char root[PATH_MAX];
            std::snprintf(root, sizeof(root), "%s/cpu", mount);
            quota = tightest(root, path, false);
        }
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
    }
    std::fclose(file);
    return least;
}

}  // namespace weft::detail::os
