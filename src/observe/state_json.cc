// state_json.cc: the form weft.state/1 of a runtime_state: docs/page.md lists its fields.
#include <unistd.h>

#include <cstdio>

#include "observe/json.h"
#include "observe/metric_table.h"
#include "observe/state.h"

namespace weft::observe::detail {

namespace {

void add_place(json_text& j, const source_location& where) {
    j.member("file", where.file_name()).member("line", where.line()).member("function", where.function_name());
}

void add_running(json_text& j, const running_g& g) {
    j.open('{').member("id", g.id);
    if (!g.name.empty()) j.member("name", g.name);
    add_place(j, g.where);
    j.member("thread", g.tid).member("in_call", g.in_call);
    if (g.since_ns >= 0) j.member("since_ns", g.since_ns);
    j.close('}');
}

void add_counts(json_text& j, const std::vector<count_of>& all) {
    j.open('[');
    for (const count_of& one : all) j.open('[').value(one.what).value(one.count).close(']');
    j.close(']');
}

void add_stats(json_text& j, const stats_snapshot& stats) {
    j.key("stats").open('{');
    for (const metric& m : metrics) j.member(m.field, m.of(stats));
    j.close('}');
}

void add_procs(json_text& j, const runtime_state& state) {
    j.key("procs").open('[');
    for (const proc_state& p : state.procs) {
        j.open('{').member("index", p.counted.index).member("idle", p.counted.idle);
        j.member("switches", p.counted.switches).member("queued", p.counted.queued);
        if (p.runs) add_running(j.key("runs"), p.g);
        j.close('}');
    }
    j.close(']').key("without_p").open('[');
    for (const running_g& g : state.without_p) add_running(j, g);
    j.close(']');
}

void add_histogram(json_text& j, const char* key, const latency_histogram& latency) {
    j.key(key).open('{').member("count", latency.total());
    for (const auto& [name, q] : {std::pair{"p50_ns", 0.5}, {"p99_ns", 0.99}}) j.member(name, latency.quantile_ns(q));
    j.key("buckets").open('[');
    for (std::size_t b = 0; b < latency_histogram::buckets; ++b) {
        if (latency.counts[b] == 0) continue;
        j.open('[').value(latency_histogram::least_ns(b)).value(latency.counts[b]).close(']');
    }
    j.close(']').close('}');
}

void add_stacks(json_text& j, const stack_state& stacks) {
    j.key("stacks").open('{').member("bound", stacks.bound).member("measured", stacks.measured);
    j.member("touched_average", stacks.touched_average).member("default_size", stacks.default_size).close('}');
}

void add_groups(json_text& j, const runtime_state& state) {
    add_counts(j.key("states"), state.states);
    j.key("sites").open('[');
    for (const site_state& site : state.sites) {
        j.open('{');
        add_place(j, site.where);
        if (!site.name.empty()) j.member("name", site.name);
        j.member("count", site.count);
        if (site.oldest_ns >= 0) j.member("oldest_ns", site.oldest_ns);
        add_counts(j.key("states"), site.states);
        j.close('}');
    }
    j.close(']').member("sites_left_out", state.sites_left_out).key("labels").open('[');
    for (const label_state& label : state.labels) {
        j.open('{').member("text", label.text).member("count", label.count).close('}');
    }
    j.close(']').member("labels_left_out", state.labels_left_out);
    j.member("labels_are_estimates", state.labels_are_estimates);
    j.key("objects").open('[');
    for (const object_state& object : state.objects) {
        char address[32];
        std::snprintf(address, sizeof(address), "%p", object.at);
        j.open('{').member("address", static_cast<const char*>(address)).member("reason", object.reason);
        j.member("count", object.count);
        if (object.oldest_ns >= 0) j.member("oldest_ns", object.oldest_ns);
        add_place(j, object.where);
        j.close('}');
    }
    j.close(']').member("objects_are_estimates", state.objects_are_estimates);
}

}  // namespace

std::string to_json(const runtime_state& state, std::string_view program, bool may_record) {
    json_text j;
    j.open('{').member("format", "weft.state/1").member("program", program).member("pid", ::getpid());
    j.member("runtime", state.name).member("may_record", may_record);
    j.member("now_ns", state.now_ns).member("took_ns", state.took_ns);
    add_stats(j, state.stats);
    add_procs(j, state);
    add_histogram(j, "latency", state.latencies.scheduling);
    add_histogram(j, "timer_lateness", state.latencies.timer_lateness);
    add_histogram(j, "poll_delay", state.latencies.poll_delay);
    add_stacks(j, state.stacks);
    add_groups(j, state);
    j.close('}');
    return std::move(j).take();
}

}  // namespace weft::observe::detail
