// metrics.cc: see weft/observe/metrics.h.
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

#include <weft/observe/metrics.h>

#include "debug/stats.h"
#include "observe/access.h"
#include "observe/metric_table.h"
#include "observe/metrics_text.h"

namespace weft::observe {

namespace detail {

namespace {

constexpr int first_power = 10;  // the first bound of the histogram is 2^10 ns, about a microsecond …
constexpr int last_power = 34;   // … and the last one 2^34 ns, about 17 s

// In any locale.
std::string seconds(uint64_t ns) {
    constexpr uint64_t second = 1'000'000'000;
    std::string digits = std::to_string(ns % second);
    digits.insert(0, 9 - digits.size(), '0');
    return std::to_string(ns / second) + "." + digits;
}

void begin_family(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
    for (const std::string_view part : {"# TYPE ", name.data(), " ", type.data(), "\n"}) text += part;
    if (name.ends_with("_bytes")) ((text += "# UNIT ") += name) += " bytes\n";
    if (name.ends_with("_seconds")) ((text += "# UNIT ") += name) += " seconds\n";
    for (const std::string_view part : {"# HELP ", name.data(), " ", help.data(), "\n"}) text += part;
}

void add_sample(std::string& text, std::string_view name, std::string_view rest, const std::string& value) {
    ((((text += name) += rest) += ' ') += value) += '\n';
}

void add_stats(std::string& text, const stats_snapshot& stats) {
    for (const metric& m : metrics) {
        const bool counts = m.kind == metric_kind::counter;
        begin_family(text, m.name, counts ? "counter" : "gauge", m.help);
        add_sample(text, m.name, counts ? "_total" : "", std::to_string(m.of(stats)));
    }
}

void add_procs(std::string& text, std::span<const proc_snapshot> procs) {
    const auto of_p = [](const proc_snapshot& p) { return "{p=\"" + std::to_string(p.index) + "\"}"; };
    begin_family(text, "weft_proc_queued", "gauge", "Runnable green threads in the queues of a P");
    for (const proc_snapshot& p : procs) add_sample(text, "weft_proc_queued", of_p(p), std::to_string(p.queued));
    begin_family(text, "weft_proc_idle", "gauge", "1 while a P has no M");
    for (const proc_snapshot& p : procs) add_sample(text, "weft_proc_idle", of_p(p), p.idle ? "1" : "0");
    begin_family(text, "weft_proc_switches", "counter", "Times that a P was given a green thread");
    for (const proc_snapshot& p : procs) {
        add_sample(text, "weft_proc_switches_total", of_p(p), std::to_string(p.switches));
    }
}

// The middle of a bucket, which is at most an eighth away from each value in it.
uint64_t middle_ns(std::size_t bucket) noexcept {
    return (latency_histogram::least_ns(bucket) + latency_histogram::least_ns(bucket + 1) - 1) / 2;
}

// A bound is the start of one of the finer buckets. So a value of exactly the bound counts above.
void add_latency(std::string& text, std::string_view name, std::string_view help, const latency_histogram& latency) {
    begin_family(text, name, "histogram", help);
    uint64_t below = 0;
    std::size_t bucket = 0;
    for (int power = first_power; power <= last_power; ++power) {
        const uint64_t bound = uint64_t{1} << power;
        for (; bucket < latency_histogram::bucket_of(bound); ++bucket) below += latency.counts[bucket];
        add_sample(text, name, "_bucket{le=\"" + seconds(bound) + "\"}", std::to_string(below));
    }
    uint64_t sum_ns = 0;
    for (std::size_t b = 0; b < latency_histogram::buckets; ++b) sum_ns += latency.counts[b] * middle_ns(b);
    const std::string count = std::to_string(latency.total());
    add_sample(text, name, "_bucket{le=\"+Inf\"}", count);
    add_sample(text, name, "_count", count);
    add_sample(text, name, "_sum", seconds(sum_ns));
}

// procs_of: as weft::stats_of_procs.
template <typename Procs>
std::string collect(const stats_snapshot& stats, const weft::detail::latencies& latencies, const Procs& procs_of) {
    std::vector<proc_snapshot> procs(stats.procs);
    procs.resize(std::min(procs.size(), procs_of(procs.data(), procs.size())));
    return metrics_text(stats, latencies, procs);
}

}  // namespace

std::string metrics_text(const stats_snapshot& stats,
                         const weft::detail::latencies& latencies,
                         std::span<const proc_snapshot> procs) {
    std::string text;
    text.reserve(16 * 1024);
    add_stats(text, stats);
    add_procs(text, procs);
    add_latency(text, "weft_scheduling_latency_seconds",
                "How long green threads were runnable before they ran, a sample", latencies.scheduling);
    add_latency(text, "weft_timer_lateness_seconds", "How late timers fired, the first of those that fired together",
                latencies.timer_lateness);
    add_latency(text, "weft_poll_delay_seconds", "How long events may have waited at most before they were polled",
                latencies.poll_delay);
    return text += "# EOF\n";
}

}  // namespace detail

std::string metrics() {
    return detail::collect(stats(), weft::detail::latencies_of_caller(),
                           [](proc_snapshot* all, std::size_t n) { return stats_of_procs(all, n); });
}

std::string metrics(const runtime& of) {
    weft::detail::latencies latencies;
    if (const weft::detail::runtime_use s = detail::access::use_of(of)) latencies = weft::detail::latencies_of(*s);
    return detail::collect(of.stats(), latencies,
                           [&](proc_snapshot* all, std::size_t n) { return of.stats_of_procs(all, n); });
}

void write_metrics(std::ostream& out) { out << metrics(); }

void write_metrics(std::ostream& out, const runtime& of) { out << metrics(of); }

}  // namespace weft::observe
