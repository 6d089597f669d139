// trees_test.cc: trees, copies and temporary files on a simulated disk, and what it refuses.
#include <functional>
#include <set>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/fs/lock.h>
#include <weft/fs/temporary.h>
#include <weft/fs/tree.h>
#include <weft/fs/watch.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

void trees_work(const std::function<void()>& body) {
    const sim::report r = sim::explore({.schedules = 50}, body);
    EXPECT_TRUE(r) << r.text();
}

TEST(SimulatedTrees, AreMadeWalkedThroughAndRemoved) {
    trees_work([] {
        check(fs::create_directories("/tmp/t/a/b"), "not made");
        check(!fs::create_directories("/tmp/t/a/b"), "made twice");
        fs::write_file("/tmp/t/a/file", "text");
        check(fs::copy_file("/tmp/t/a/file", "/tmp/t/copy") == 4, "another size");
        check(fs::read_file("/tmp/t/copy") == "text", "another content");
        std::set<std::string> found;
        for (const fs::walk_entry& e : fs::walk("/tmp/t")) found.insert(e.path);
        check(found == std::set<std::string>{"/tmp/t/a", "/tmp/t/a/b", "/tmp/t/a/file", "/tmp/t/copy"},
              "other entries");
        check(fs::remove_all("/tmp/t") == 5, "another number");
        check(fs::remove_all("/tmp/t") == 0, "removed twice");
        check(!fs::exists("/tmp/t"), "it is there");
    });
}

TEST(SimulatedTrees, TemporaryFilesAndDirectoriesRemoveThemselves) {
    trees_work([] {
        {
            const fs::temporary_directory d;
            fs::temporary_file f("part-", d.path());
            f.file().write_all("text");
            f.keep(d / "whole");
            const fs::temporary_file other;
            check(fs::read_directory("/tmp").size() == 2, "not in /tmp");
        }
        check(fs::read_directory("/tmp").empty(), "they are there");
    });
}

// Returns the text of the error that f throws.
std::string refusal(const std::function<void()>& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        check(e.code() == std::errc::not_supported, "another error");
        return e.what();
    }
    return "";
}

TEST(SimulatedTrees, WhatTheDiskLacksIsRefusedWithAReason) {
    trees_work([] {
        fs::write_file("/tmp/f", "text");
        fs::file f("/tmp/f");
        const std::function<void()> calls[] = {
            [] { fs::symlink("f", "/tmp/l"); },
            [] { fs::link("/tmp/f", "/tmp/l"); },
            [] { static_cast<void>(fs::readlink("/tmp/f")); },
            [] { fs::chmod("/tmp/f", 0600); },
            [] { fs::set_times("/tmp/f", {}); },
            [&] { const fs::file_lock l(f); },
            [] { const fs::watcher w; },
        };
        for (const auto& call : calls)
            check(refusal(call).find("the disk of a simulation has no links") != std::string::npos, "no reason");
        check(fs::read_directory("/tmp").size() == 1, "something was made");
    });
}

}  // namespace
}  // namespace weft
