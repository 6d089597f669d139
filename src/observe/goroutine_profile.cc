// goroutine_profile.cc: the stacks of all green threads, in the format of pprof.
//
// Green threads with the same stack, state, name, labels and start place are one sample.
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/blocking.h>
#include <weft/observe/profile.h>

#include "debug/all_gs.h"
#include "observe/access.h"
#include "observe/code_names.h"
#include "observe/output.h"
#include "observe/pprof.h"
#include "observe/profile_maker.h"
#include "os/os.h"

namespace weft::observe {

namespace {

using weft::detail::g_snapshot;
using weft::detail::g_state;

class collected_gs {
public:
    static void add(void* self, const g_snapshot& g, const label_set& labels) {
        static_cast<collected_gs*>(self)->add(g, labels);
    }

    [[nodiscard]] std::string encode(int64_t unix_ns) const {
        const detail::value_type goroutines{"goroutine", "count"};
        detail::pprof to({&goroutines, 1});
        detail::code_names names(to);
        for (const auto& [key, same] : groups_) {
            std::vector<uint64_t> locations =
                names.locations_of(same.pcs, same.is_first_exact, detail::shown_frames::from_call);
            // Without a stack, the start place stands for it.
            if (locations.empty()) locations.push_back(to.add_place(same.started));
            std::vector<detail::profile_label> labels;
            labels.reserve(same.labels.size());
            for (const auto& [label, value] : same.labels) labels.push_back({label, value});
            to.add_sample(locations, {&same.count, 1}, labels);
        }
        to.set_period(goroutines, 1);
        to.set_time(unix_ns, 0);
        to.add_comment("weft: " + std::to_string(count_) + " green threads");
        if (without_stack_ != 0)
            to.add_comment("weft: the stacks of " + std::to_string(without_stack_) + " that run could not be read");
        if (names.unnamed() != 0)
            to.add_comment("weft: " + std::to_string(names.unnamed()) + " addresses have no name");
        return to.finish();
    }

private:
    struct group {
        int64_t count = 0;
        std::vector<const void*> pcs;  // empty: unknown
        bool is_first_exact = false;
        detail::code_line started;
        std::vector<std::pair<std::string, std::string>> labels;
    };

    static void add_label(std::string& key, group& to, std::string_view name, std::string_view value) {
        if (value.empty()) return;
        to.labels.emplace_back(name, value);
        key.append(name).append(1, '\0').append(value).append(1, '\0');
    }

    void add(const g_snapshot& g, const label_set& labels) {
        ++count_;
        group found;
        std::string key;
        add_label(key, found, "state", text(g.state));
        if (g.state == g_state::waiting) add_label(key, found, "wait_reason", text(g.reason));
        add_label(key, found, "name", g.who.name);
        add_label(key, found, "started_at", detail::place_of(g.who.where));
        for (std::size_t i = 0; i < labels.size(); ++i) add_label(key, found, labels[i].key, labels[i].value);
        if (g.never_ran && g.state != g_state::running) {
            found.pcs.assign(1, g.who.entry);
            found.is_first_exact = true;
        } else if (g.frames.count != 0) {
            found.pcs.assign(g.frames.pcs, g.frames.pcs + g.frames.count);
            // Where another thread was interrupted; all other frames are at a call.
            found.is_first_exact = g.state == g_state::running && g.on.tid != weft::detail::os::current_tid();
        } else {
            ++without_stack_;
        }
        key.append(reinterpret_cast<const char*>(found.pcs.data()), found.pcs.size() * sizeof(void*));
        found.started = {g.who.where.function_name(), g.who.where.file_name(),
                         static_cast<uint32_t>(g.who.where.line())};
        group& there = groups_.try_emplace(std::move(key), std::move(found)).first->second;
        ++there.count;
    }

    std::unordered_map<std::string, group> groups_;
    uint64_t count_ = 0;
    uint64_t without_stack_ = 0;
};

profile encode(const collected_gs& all, int64_t unix_ns) {
    return blocking([&] { return profile_maker::make(all.encode(unix_ns)); });
}

}  // namespace

profile goroutine_profile() {
    const int64_t unix_ns = detail::unix_ns();
    collected_gs all;
    if (!weft::detail::for_each_g_of_caller(&collected_gs::add, &all))
        throw std::logic_error("weft: no runtime has been started, so there are no green threads to profile");
    return encode(all, unix_ns);
}

profile goroutine_profile(const runtime& of) {
    const int64_t unix_ns = detail::unix_ns();
    collected_gs all;
    {
        const weft::detail::runtime_use s = detail::access::of(of, "weft: a goroutine profile was taken of");
        weft::detail::for_each_g(*s, &collected_gs::add, &all);
    }
    return encode(all, unix_ns);
}

std::optional<profile> detail::goroutine_profile_of(const subject& of) {
    const int64_t unix_ns = detail::unix_ns();
    collected_gs all;
    {
        const pinned_subject s = of.use();
        if (!s) return std::nullopt;
        weft::detail::for_each_g(*s, &collected_gs::add, &all);
    }
    return encode(all, unix_ns);
}

void profile::write(const std::string& path) const {
    blocking([&] {
        detail::output file(path);
        file.append(*bytes_);
        file.close();
    });
}

}  // namespace weft::observe
