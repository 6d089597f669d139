// disk_test.cc: the disks of a simulation: what weft::fs does there, what fails, and what a crash
// leaves. Then programs with a bug that only a crash or a full disk shows, and their corrections.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/net/endpoint.h>
#include <weft/net/tcp.h>
#include <weft/sim/disk.h>
#include <weft/sim/faults.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"
#include "support/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using fs::access;
using sim::file_call;
using sim::verdict;
using test::check;

void disk_passes(const std::function<void()>& body, uint64_t schedules = 100) {
    const sim::report r = sim::explore({.schedules = schedules, .lateness = 0ns}, body);
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    const sim::report again = sim::check_repeatable({.seed = 2, .schedules = schedules, .lateness = 0ns}, body);
    EXPECT_EQ(again.result, verdict::passed) << again.text();
}

template <typename F>
void fails_with(std::errc expected, F f) {
    std::error_code ec;
    f(ec);
    check(ec == expected, ("instead of " + std::make_error_code(expected).message() + ": " + ec.message()).c_str());
}

// Runs f on a host, and then crashes it in the moment that the schedule chooses; then starts it
// again. Calls look there.
void crash_and_look(const sim::host& h, std::function<void()> f, std::function<void()> look, unsigned longest_ms = 12) {
    h.go(std::move(f));
    sleep_for(std::chrono::milliseconds(1 + sim::choose(longest_ms)));
    h.crash();
    sleep_for(1s);
    h.restart();
    event done;
    std::string wrong;
    h.go([&] {
        try {
            look();
        } catch (const std::exception& e) {
            wrong = e.what();
        }
        done.set();
    });
    done.wait();
    check(wrong.empty(), wrong.c_str());
}

TEST(SimulatedDisk, AHostOfAnotherScheduleIsRefused) {
    std::optional<sim::host> kept;
    disk_passes([&] { kept = sim::network().add_host("h"); }, 1);
    for (const std::function<void()>& use : {std::function<void()>([&] { sim::disk{*kept}; }),
                                             std::function<void()>([&] { sim::set_wall_clock(*kept, 1s); }),
                                             std::function<void()>([&] { kept->crash(); })}) {
        const sim::report r = sim::explore({.schedules = 1}, use);
        EXPECT_EQ(r.result, verdict::failed) << r.text();
        EXPECT_NE(r.reason.find("a host of another schedule was used"), std::string::npos) << r.reason;
    }
}

// ---- What programs see.

TEST(SimulatedDisk, KeepsWhatIsWritten) {
    disk_passes([] {
        fs::write_file("/a", "hello");
        check(fs::read_file("/a") == "hello", "the content of a file");
        fs::file f("/a", {.mode = access::read_write});
        f.pwrite("HE", 0);
        check(f.seek(-1, fs::seek_from::end) == 4, "the position");
        f.write_all("O!");
        char all[10];
        check(f.pread(all, 0) == 6 && std::string(all, 6) == "HEllO!", "writes at positions");
        f.truncate(8);
        check(fs::read_file("a") == std::string("HEllO!\0\0", 8), "a longer file ends in zeros; the working directory");
        f.truncate(1);
        check(f.size() == 1 && f.stat().type == fs::file_type::regular, "what stat says");
        fs::file log("/a", {.mode = access::write, .append = true});
        log.write_all("xy");
        check(fs::read_file("/a") == "Hxy", "an append");
        fs::const_buffer pieces[] = {fs::const_buffer("12", 2), fs::const_buffer("34", 2)};
        f.pwritev(pieces, 1);
        check(fs::read_file("/a") == "H1234", "several pieces");
    });
}

TEST(SimulatedDisk, HasDirectories) {
    disk_passes([] {
        fs::mkdir("/d");
        fs::mkdir("/d/e");
        fs::write_file("/d/e/f", "1");
        fs::write_file("/d/g", "22");
        fs::rename("/d/g", "/d/e/../e/f");
        check(fs::read_file("/d/e/f") == "22", "a renamed file replaces another one");
        check(!fs::exists("/d/g") && fs::exists("/d/./e"), "exists");
        check(fs::read_directory("/d").size() == 1 && fs::read_directory("/d")[0].name == "e", "a list");
        fails_with(std::errc::directory_not_empty, [](auto& ec) { fs::rmdir("/d/e", ec); });
        fails_with(std::errc::invalid_argument, [](auto& ec) { fs::rename("/d", "/d/e/x", ec); });
        fails_with(std::errc::no_such_file_or_directory, [](auto& ec) { fs::file("/x/y", {}, ec); });
        fails_with(std::errc::not_a_directory, [](auto& ec) { fs::file("/d/e/f/z", {}, ec); });
        fails_with(std::errc::is_a_directory, [](auto& ec) { fs::unlink("/d", ec); });
        fails_with(std::errc::file_exists, [](auto& ec) { fs::mkdir("/d", 0777, ec); });
        fails_with(std::errc::file_exists, [](auto& ec) {
            fs::file("/d/e/f", {.mode = access::write, .create = true, .exclusive = true}, ec);
        });
        fails_with(std::errc::bad_file_descriptor, [](auto& ec) { fs::file("/d/e/f").write_all("x", ec); });
        fails_with(std::errc::invalid_argument, [](auto& ec) { fs::rmdir("/d/.", ec); });
        fails_with(std::errc::directory_not_empty, [](auto& ec) { fs::rmdir("/d/e/..", ec); });
        fails_with(std::errc::device_or_resource_busy, [](auto& ec) { fs::rmdir("/", ec); });
        fails_with(std::errc::device_or_resource_busy, [](auto& ec) { fs::rename("/d/.", "/x", ec); });
        fails_with(std::errc::not_a_directory, [](auto& ec) { fs::file("/d/e/f/.", {}, ec); });
        fails_with(std::errc::no_such_file_or_directory, [](auto& ec) { fs::mkdir("/x/.", 0777, ec); });
        check(fs::exists("/d/./e/."), "a path with dots");
        fs::file open("/d/e/f");
        fs::unlink("/d/e/f");
        check(open.size() == 2, "an open file outlives its name");
        fs::rmdir("/d/e");
        fs::rmdir("/d");
        check(fs::read_directory("/").size() == 1, "only tmp is left");
    });
}

TEST(SimulatedDisk, IsEmptyInEachSchedule) {
    disk_passes([] {
        check(!fs::exists("/left"), "the disk of another schedule");
        fs::write_file("/left", "x");
    });
}

TEST(SimulatedDisk, IsTheHosts) {
    disk_passes([] {
        const sim::network net;
        fs::write_file("/a", "local");
        event done;
        net.add_host("other").go([&] {
            check(!fs::exists("/a"), "the file of another host");
            done.set();
        });
        done.wait();
    });
}

TEST(SimulatedDisk, NeverReachesTheSystem) {
    const std::string path = "/tmp/weft_disk_test_" + std::to_string(::getpid());
    disk_passes([&] { fs::write_file(path, "simulated"); });
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SimulatedDisk, UsesTheSystemsFilesOnRequest) {
    const std::filesystem::path real =
        std::filesystem::temp_directory_path() / ("weft_real_" + std::to_string(::getpid()));
    std::filesystem::create_directory(real);
    std::ofstream(real / "in") << "real";
    disk_passes([&] {
        sim::disk(sim::network().local()).use_real(real.string());
        check(fs::read_file(real / "in") == "real", "a file of the system");
        fs::write_file("/out", "x");
        fails_with(std::errc::cross_device_link, [&](auto& ec) { fs::rename("/out", (real / "out").string(), ec); });
        check(!fs::exists(real.string() + "2"), "a name that only begins alike");
    });
    std::filesystem::remove_all(real);
}

TEST(SimulatedDisk, ADescriptorOfTheSystemIsRefused) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        std::FILE* real = std::tmpfile();
        fs::file f = fs::file::adopt(::dup(::fileno(real)), "real");
        std::fclose(real);
    });
    EXPECT_EQ(r.result, verdict::uncontrolled);
    EXPECT_NE(r.reason.find("adopts a descriptor of the system"), std::string::npos) << r.reason;
}

// ---- What goes wrong.

TEST(SimulatedDisk, TakesTime) {
    disk_passes([] {
        const sim::disk d(sim::network().local());
        d.set({.latency = 3ms, .splits = false});
        const auto begin = std::chrono::steady_clock::now();
        fs::file f("/a", {.mode = access::write, .create = true});
        f.write_all("x");
        f.sync();
        check(std::chrono::steady_clock::now() - begin == 6ms, "a write and a sync take 3 ms each");
        d.set({.latency = 3ms, .jitter = 7ms, .splits = false});
        f.sync();
        const auto both = std::chrono::steady_clock::now() - begin;
        check(both >= 9ms && both <= 16ms, "a sync takes 3 to 10 ms");
    });
}

TEST(SimulatedDisk, IsNotInterruptedByADeadline) {
    disk_passes([] {
        sim::disk(sim::network().local()).set({.latency = 1h, .splits = false});
        fs::file f("/a", {.mode = access::write, .create = true});
        const auto begin = std::chrono::steady_clock::now();
        with_timeout(1ms, [&] { f.write_all("x"); });
        check(std::chrono::steady_clock::now() - begin == 1h, "the call is waited for");
    });
}

TEST(SimulatedDisk, IsFull) {
    disk_passes([] {
        const sim::disk d(sim::network().local());
        d.set({.capacity = 10});
        fails_with(std::errc::no_space_on_device, [](auto& ec) { fs::write_file("/a", "0123456789ab", ec); });
        check(fs::read_file("/a") == "0123456789", "what fits was written");
        fs::unlink("/a");
        check(d.used() == 0, "a removed file needs no space");
        fs::write_file("/b", "0123456789");
        check(d.used() == 10, "what is used");
        fs::file open("/b", {.mode = access::write});
        fs::file also_open("/b");
        fs::unlink("/b");
        fails_with(std::errc::no_space_on_device, [](auto& ec) { fs::write_file("/c", "x", ec); });
        open.truncate(4);
        open.close();
        check(d.used() == 4, "a removed file needs its space while it is open");
        also_open.close();
        check(d.used() == 0, "a removed file that is closed needs no space");
    });
}

TEST(SimulatedDisk, CallsFailOnRequest) {
    disk_passes([] {
        const sim::disk d(sim::network().local());
        fs::file f("/a", {.mode = access::read_write, .create = true});
        d.fail(file_call::sync, std::errc::io_error, {.after = 1, .times = 2});
        f.sync();
        for (int i = 0; i < 2; ++i) fails_with(std::errc::io_error, [&](auto& ec) { f.sync(ec); });
        f.sync();
        char c = 0;
        d.fail(file_call::read, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { static_cast<void>(f.read({&c, 1}, ec)); });
        d.fail(file_call::write, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { f.write_all("x", ec); });
        check(f.size() == 0, "a failed write writes nothing");
        d.fail(file_call::open, std::errc::too_many_files_open);
        fails_with(std::errc::too_many_files_open, [&](auto& ec) { fs::file("/a", {}, ec); });
        d.fail(file_call::rename, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { fs::rename("/a", "/b", ec); });
        d.fail(file_call::truncate, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { f.truncate(1, ec); });
        d.fail(file_call::unlink, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { fs::unlink("/a", ec); });
        d.fail(file_call::make_directory, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { fs::mkdir("/d", 0777, ec); });
        d.fail(file_call::list, std::errc::io_error);
        fails_with(std::errc::io_error, [&](auto& ec) { static_cast<void>(fs::read_directory("/", ec)); });
        check(fs::exists("/a"), "nothing else has changed");
    });
}

TEST(SimulatedDisk, RulesCountTheSameCalls) {
    disk_passes([] {
        const sim::disk d(sim::network().local());
        fs::file f("/a", {.mode = access::read_write, .create = true});
        d.fail(file_call::sync, std::errc::io_error);
        d.fail(file_call::sync, std::errc::no_space_on_device, {.after = 1});
        fails_with(std::errc::io_error, [&](auto& ec) { f.sync(ec); });
        fails_with(std::errc::no_space_on_device, [&](auto& ec) { f.sync(ec); });
        f.sync();
    });
}

TEST(SimulatedDisk, ACallFailsWithECANCELED) {
    disk_passes([] {
        const sim::disk d(sim::network().local());
        fs::file f("/a", {.mode = access::read_write, .create = true});
        // Not weft::errc::cancelled, which compares equal to it.
        const auto is_the_systems = [](const std::error_code& ec) {
            return ec == std::errc::operation_canceled && ec.category() == std::generic_category();
        };
        std::error_code ec;
        d.fail(file_call::write, std::errc::operation_canceled);
        f.write_all("x", ec);
        check(is_the_systems(ec), "a write");
        d.fail(file_call::sync, std::errc::operation_canceled);
        f.sync(ec);
        check(is_the_systems(ec), "a sync");
    });
}

TEST(SimulatedDisk, AnOpenThatFindsNoNumberChangesNothing) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        fs::write_file("/a", "x");
        std::vector<fs::file> all;
        std::error_code ec;
        while (!ec) {
            all.emplace_back("/a", fs::open_options{}, ec);
            check(all.size() < 1'000'000, "there is no limit");
        }
        check(ec == std::errc::too_many_files_open, "another error");
        fails_with(std::errc::too_many_files_open,
                   [](auto& e) { fs::file("/b", {.mode = access::write, .create = true}, e); });
        check(!fs::exists("/b"), "a file was created");
        fails_with(std::errc::too_many_files_open,
                   [](auto& e) { fs::file("/a", {.mode = access::write, .truncate = true}, e); });
        check(fs::stat("/a").size == 1, "a file was cut");
        all.clear();
        check(fs::read_file("/a") == "x", "a number is free again");
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(SimulatedDisk, AFileOfAnEndedSimulationIsNotSent) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        fs::file kept;
        sim::report other;
        std::thread([&] {
            other = sim::explore({.schedules = 1}, [&] {
                fs::write_file("/a", "x");
                kept = fs::file("/a");
            });
        }).join();
        net::tcp_listener l(net::endpoint::loopback(0));
        net::tcp_stream c = net::tcp_stream::connect(l.local_endpoint());
        fails_with(std::errc::bad_file_descriptor,
                   [&](auto& ec) { static_cast<void>(c.sendfile(kept.native_handle(), 0, 1, ec)); });
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(SimulatedDisk, BadOptionsAreRefused) {
    disk_passes(
        [] {
            const sim::disk d(sim::network().local());
            const auto refuses = [](const auto& f) {
                try {
                    f();
                } catch (const std::invalid_argument&) {
                    return true;
                }
                return false;
            };
            check(refuses([&] { d.set({.latency = -1ns}); }), "a negative latency");
            check(refuses([&] { d.set({.jitter = -1ns}); }), "a negative jitter");
            check(refuses([&] { d.set({.sector = 0}); }), "no sector");
            check(refuses([&] { d.fail(file_call::read, std::errc{}); }), "no error");
            check(refuses([&] { d.use_real("relative"); }), "a relative path");
            check(refuses([&] { sim::set_wall_clock(sim::network().local(), 0s, -1); }), "a clock that stands still");
        },
        1);
}

// ---- What a crash leaves. Each test also says that all of the outcomes occur.

std::string content_of_a() { return fs::exists("/a") ? fs::read_file("/a") : "no file"; }

// What `look` sees after a crash, in all schedules.
std::set<std::string> after_crash(const sim::disk_options& how,
                                  std::function<void()> f,
                                  std::function<std::string()> look = content_of_a) {
    std::set<std::string> seen;
    const sim::report r = sim::explore({.schedules = 2000}, [&] {
        const sim::network net;
        const sim::host h = net.add_host("h");
        sim::disk(h).set(how);
        h.go(f);
        sleep_for(1s);
        h.crash();
        h.restart();
        event done;
        h.go([&] {
            seen.insert(look());
            done.set();
        });
        done.wait();
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    return seen;
}

using outcomes = std::set<std::string>;

void sync_root() { fs::file("/").sync(); }

TEST(SimulatedCrash, WhatIsSyncedSurvives) {
    EXPECT_EQ(after_crash({},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true});
                              f.write_all("safe");
                              f.sync();
                              sync_root();
                          }),
              outcomes{"safe"});
}

TEST(SimulatedCrash, WritesAreLostOrReordered) {
    EXPECT_EQ(after_crash({.splits = false},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true});
                              f.sync();
                              sync_root();
                              f.pwrite("1", 0);
                              f.pwrite("2", 1);
                          }),
              (outcomes{"", "1", "\0"s, "1\0"s, "\0"s + "2", "12"}));
}

TEST(SimulatedCrash, NamesAreLost) {
    EXPECT_EQ(after_crash({.splits = false},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true});
                              f.write_all("x");
                              f.sync();
                          }),
              (outcomes{"x", "no file"}));
}

// Which of these names there are.
std::string names_left() {
    std::string all;
    for (const char* name : {"/tmp/x", "/d/x", "/x", "/d"})
        if (fs::exists(name)) all += name + " "s;
    return all;
}

TEST(SimulatedCrash, ASyncOfADirectoryKeepsTheOrderOfNames) {
    EXPECT_EQ(after_crash(
                  {.splits = false},
                  [] {
                      fs::write_file("/tmp/x", "");
                      fs::rename("/tmp/x", "/x");
                      sync_root();
                  },
                  names_left),
              outcomes{"/x "});
    EXPECT_EQ(after_crash(
                  {.splits = false},
                  [] {
                      fs::write_file("/tmp/x", "");
                      fs::rename("/tmp/x", "/x");
                      sync_root();
                      fs::file("/tmp").sync();
                  },
                  names_left),
              outcomes{"/x "});
    EXPECT_EQ(after_crash(
                  {.splits = false},
                  [] {
                      fs::mkdir("/d");
                      fs::write_file("/tmp/x", "");
                      fs::rename("/tmp/x", "/d/x");
                      fs::rename("/d/x", "/x");
                      sync_root();
                  },
                  names_left),
              outcomes{"/x /d "});
}

TEST(SimulatedCrash, ASyncOfADirectoryLeavesOutLaterNames) {
    EXPECT_EQ(after_crash(
                  {.splits = false},
                  [] {
                      fs::mkdir("/d");
                      fs::write_file("/tmp/x", "");
                      sync_root();
                  },
                  names_left),
              (outcomes{"/d ", "/tmp/x /d "}));
}

TEST(SimulatedCrash, WhatNoNameLeadsToUsesNoSpace) {
    EXPECT_EQ(after_crash(
                  {.capacity = 10, .splits = false},
                  [] {
                      fs::mkdir("/d");
                      fs::file f("/d/a", {.mode = access::write, .create = true});
                      f.write_all("0123456789");
                      f.sync();
                      fs::file("/d").sync();
                  },
                  [] {
                      const uint64_t used = sim::disk(sim::network().here()).used();
                      return (fs::exists("/d/a") ? "a " : "none ") + std::to_string(used);
                  }),
              outcomes{"a 10"});
}

TEST(SimulatedCrash, AnOpenFileWithoutANameIsGone) {
    EXPECT_EQ(after_crash(
                  {.splits = false},
                  [] {
                      fs::file f("/a", {.mode = access::write, .create = true});
                      f.write_all("x");
                      f.sync();
                      fs::unlink("/a");
                      sync_root();
                      sleep_for(10s);
                  },
                  [] { return std::to_string(sim::disk(sim::network().here()).used()); }),
              outcomes{"0"});
}

TEST(SimulatedCrash, ARenameIsAtomic) {
    EXPECT_EQ(after_crash({.splits = false},
                          [] {
                              fs::write_file("/a", "old");
                              fs::file("/a").sync();
                              fs::write_file("/b", "new");
                              fs::file("/b").sync();
                              sync_root();
                              fs::rename("/b", "/a");
                          }),
              (outcomes{"old", "new"}));
}

TEST(SimulatedCrash, AWriteIsCutAtASector) {
    EXPECT_EQ(after_crash({.sector = 4, .splits = false},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true});
                              f.write_all("ab");
                              f.sync();
                              sync_root();
                              f.write_all("cdefghij");
                          }),
              (outcomes{"ab", "abcd", "abcdefgh", "abcdefghij", "ab"s + std::string(8, '\0'),
                        "abcd"s + std::string(6, '\0'), "abcdefgh\0\0"s}));
}

TEST(SimulatedCrash, AWriteInProgressMayBeCut) {
    EXPECT_EQ(after_crash({.latency = 2s, .sector = 4, .splits = false},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true, .data_sync = true});
                              f.write_all("abcdef");
                          }),
              (outcomes{"no file", "", "abcd", "abcdef", "abcd\0\0"s, std::string(6, '\0')}));
}

TEST(SimulatedCrash, ASyncMayLie) {
    EXPECT_EQ(after_crash({.splits = false, .sync_lies = true},
                          [] {
                              fs::file f("/a", {.mode = access::write, .create = true});
                              f.write_all("x");
                              f.sync();
                              sync_root();
                          }),
              (outcomes{"no file", "", "x", "\0"s}));
}

TEST(SimulatedCrash, CallsOfItsGreenThreadsAreCancelled) {
    disk_passes([] {
        const sim::network net;
        const sim::host h = net.add_host("h");
        sim::disk(h).set({.latency = 10ms, .splits = false});
        bool was_cancelled = false;
        fs::file kept;
        h.go([&] {
            kept = fs::file("/a", {.mode = access::write, .create = true});
            try {
                kept.write_all("x");
            } catch (const cancelled&) {
                was_cancelled = true;
            }
        });
        sleep_for(5ms);
        h.crash();
        sleep_for(50ms);
        check(was_cancelled, "a call that is in progress in a crash");
        h.restart();
        event done;
        h.go([&] {
            fails_with(std::errc::io_error, [&](auto& ec) { kept.sync(ec); });
            kept.close();
            done.set();
        });
        done.wait();
    });
}

// ---- Plans of faults.

TEST(SimulatedDisk, FailsAsThePlanSays) {
    using sim::fault_kind;
    disk_passes([] {
        const sim::fault_plan plan = {
            {1s, fault_kind::disk_full, "h"},        {2s, fault_kind::disk_room, "h"},
            {3s, fault_kind::disk_sync_fails, "h"},  {4s, fault_kind::disk_sync_lies, "h"},
            {5s, fault_kind::disk_sync_honest, "h"}, {6s, fault_kind::clock_step, "h", {}, -2s}};
        check(sim::to_text(plan).find("6000 ms: clock step: h by -2000 ms\n") != std::string::npos, "the text");
        const sim::network net;
        const sim::host h = net.add_host("h");
        sim::run_faults(plan);
        event done;
        h.go([&] {
            sleep_for(1500ms);
            fails_with(std::errc::no_space_on_device, [](auto& ec) { fs::write_file("/a", "x", ec); });
            sleep_for(1s);
            fs::write_file("/a", "x");
            sleep_for(1s);
            fs::file f("/a");
            fails_with(std::errc::io_error, [&](auto& ec) { f.sync(ec); });
            sleep_for(1s);
            check(sim::disk(h).options().sync_lies, "a disk that lies");
            sleep_for(1s);
            check(!sim::disk(h).options().sync_lies, "a disk that no longer lies");
            const auto before = std::chrono::system_clock::now();
            sleep_for(1s);
            check(std::chrono::system_clock::now() - before == -1s, "a step of the clock");
            done.set();
        });
        done.wait();
    });
}

TEST(SimulatedDisk, WorksAfterARandomPlan) {
    disk_passes([] {
        const sim::host h = sim::network().add_host("h");
        sim::run_faults(sim::random_faults({"h"}, {.span = 10s, .crashes = false, .partitions = false, .disks = true}));
        sleep_for(11s);
        event done;
        h.go([&] {
            fs::file f("/a", {.mode = access::write, .create = true});
            f.write_all("x");
            f.sync();
            done.set();
        });
        done.wait();
    });
}

TEST(SimulatedDisk, RandomPlansHaveItsFaults) {
    std::set<sim::fault_kind> seen;
    const sim::report r = sim::explore({.schedules = 300}, [&] {
        for (const sim::fault& f :
             sim::random_faults({"h"}, {.crashes = false, .partitions = false, .disks = true, .clocks = true}))
            seen.insert(f.what);
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    using enum sim::fault_kind;
    EXPECT_EQ(seen, (std::set<sim::fault_kind>{disk_full, disk_room, disk_sync_fails, disk_sync_honest, clock_step}));
}

// ---- Clocks.

TEST(SimulatedClocks, DifferByHost) {
    disk_passes([] {
        const sim::network net;
        const sim::host h = net.add_host("h");
        sim::set_wall_clock(h, 1h, 0.01);
        const auto wall = [] { return std::chrono::system_clock::now(); };
        event done;
        const auto here = wall();
        h.go([&] {
            check(wall() - here == 1h, "the offset");
            check(std::time(nullptr) == std::chrono::system_clock::to_time_t(here + 1h), "time() shows it");
            const auto steady = std::chrono::steady_clock::now();
            sleep_for(100s);
            check(std::chrono::steady_clock::now() - steady == 100s, "durations stay");
            check(wall() - here == 1h + 101s, "the drift");
            done.set();
        });
        done.wait();
        check(wall() - here == 100s, "the clock of another host");
    });
}

// ---- Programs that write files, with one bug each, and their corrections.

struct program {
    const char* name;
    // correct: without the bug. It returns, or a crash ends it.
    std::function<void(bool correct)> write;
    // Throws if what is on the disk breaks the promise.
    std::function<void(bool correct)> recover;
};

std::string acknowledged;  // of the running schedule: what the program has promised

void save_settings(bool correct) {
    fs::write_file("/conf", "version 1");
    fs::file("/conf").sync();
    sync_root();
    acknowledged = "yes";
    {
        fs::file f("/conf.new", {.mode = access::write, .create = true});
        f.write_all("version 2");
        if (correct) f.sync();
    }
    fs::rename("/conf.new", "/conf");
    sync_root();
}

void read_settings(bool /*correct*/) {
    if (acknowledged.empty()) return;
    const std::string now = fs::read_file("/conf");
    check(now == "version 1" || now == "version 2", "the settings are neither the old nor the new ones");
}

void create_account(bool correct) {
    fs::file f("/account", {.mode = access::write, .create = true, .exclusive = true});
    f.write_all("100");
    f.sync();
    if (correct) sync_root();
    acknowledged = "100";
}

void read_account(bool /*correct*/) {
    if (acknowledged.empty()) return;
    check(fs::exists("/account") && fs::read_file("/account") == acknowledged, "an acknowledged account is gone");
}

unsigned sum_of(const std::string& s) {
    unsigned sum = 1;
    for (const char c : s) sum = sum * 31 + static_cast<unsigned char>(c);
    return sum;
}

const std::string record(char c) { return std::string(700, c); }  // longer than a sector

// A log of records with their length, and, if it is correct, a checksum, in eight digits each.
std::string framed(const std::string& r, bool checksum) {
    char head[32];
    std::snprintf(head, sizeof head, "%08zx%08x", r.size(), checksum ? sum_of(r) : 0);
    return head + r;
}

void append_records(bool correct) {
    fs::file log("/log", {.mode = access::write, .create = true, .append = true});
    log.sync();
    sync_root();
    for (const char c : {'a', 'b', 'c'}) {
        log.write_all(framed(record(c), correct));
        log.sync();
    }
}

void read_records(bool correct) {
    if (!fs::exists("/log")) return;
    const std::string all = fs::read_file("/log");
    for (std::size_t at = 0; at + 16 <= all.size();) {
        const std::size_t size = std::strtoul(all.substr(at, 8).c_str(), nullptr, 16);
        if (at + 16 + size > all.size() || size == 0) return;  // the end was not written
        const std::string r = all.substr(at + 16, size);
        if (correct && sum_of(r) != std::strtoul(all.substr(at + 8, 8).c_str(), nullptr, 16)) return;
        check(r == record(r[0]) && r[0] != 0, "a record is torn");
        at += 16 + size;
    }
}

void append_lines(bool correct) {
    fs::file log("/lines", {.mode = access::write, .create = true, .append = true});
    for (const std::string line : {"first\n", "second\n", "third\n"}) {
        if (correct)
            log.write_all(line);
        else
            static_cast<void>(log.write_some(line));
    }
    acknowledged = "all";
    log.sync();
    sync_root();
}

void read_lines(bool /*correct*/) {
    if (acknowledged.empty() || !fs::exists("/lines")) return;
    const std::string all = fs::read_file("/lines");
    const std::string wanted = "first\nsecond\nthird\n";
    // A crash may lose the end, or, which shows as zeros, a write in between.
    if (all.size() < wanted.size() && all.find('\0') == std::string::npos)
        check(wanted.starts_with(all), "a line is not whole");
}

void acknowledge_orders(bool correct) {
    fs::file log("/orders", {.mode = access::write, .create = true, .append = true});
    sync_root();
    for (const std::string order : {"1", "2", "3"}) {
        log.write_all(order);
        if (correct) log.sync();
        acknowledged += order;
        if (!correct) log.sync();
    }
}

void read_orders(bool /*correct*/) {
    const std::string all = fs::exists("/orders") ? fs::read_file("/orders") : "";
    check(all.starts_with(acknowledged), "an acknowledged order is gone");
}

const program programs[] = {
    {"no sync before a rename", save_settings, read_settings},
    {"no sync of the directory", create_account, read_account},
    {"a torn record without a checksum", append_records, read_records},
    {"an append that assumes whole writes", append_lines, read_lines},
    {"an acknowledgement before the sync", acknowledge_orders, read_orders},
};

sim::report run_program(const program& p, bool correct, uint64_t schedules) {
    return sim::explore({.schedules = schedules}, [&] {
        acknowledged.clear();
        const sim::network net;
        const sim::host h = net.add_host("server");
        sim::disk(h).set({.latency = 1ms});
        crash_and_look(h, [&] { p.write(correct); }, [&] { p.recover(correct); });
    });
}

TEST(ProgramsThatWriteFiles, BugsAreFound) {
    for (const program& p : programs) {
        const sim::report r = run_program(p, false, 1000);
        EXPECT_EQ(r.result, verdict::failed) << p.name << ": " << r.text();
        std::printf("%s: found in schedule %llu, %zu choices: %s\n", p.name,
                    static_cast<unsigned long long>(r.schedules), r.choices, r.reason.c_str());
    }
}

TEST(ProgramsThatWriteFiles, CorrectionsPass) {
    for (const program& p : programs) {
        const sim::report r = run_program(p, true, static_cast<uint64_t>(test::scaled(10'000)));
        EXPECT_EQ(r.result, verdict::passed) << p.name << ": " << r.text();
        std::printf("%s, corrected: %llu schedules passed\n", p.name, static_cast<unsigned long long>(r.schedules));
    }
}

}  // namespace
}  // namespace weft
