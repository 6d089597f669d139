// samples.h: durations, and their percentiles.
#pragma once

#include <algorithm>
#include <vector>

#include "measurement.h"

namespace bench {

class samples {
public:
    explicit samples(int64_t count) { values_.reserve(static_cast<size_t>(count)); }

    explicit samples(std::vector<int64_t> values) : values_(std::move(values)) {}

    void add(int64_t ns) { values_.push_back(ns); }

    int64_t count() const { return static_cast<int64_t>(values_.size()); }

    // The smallest sample that is not below a share of them. Sorts. Requires a sample.
    int64_t percentile(double share) {
        std::sort(values_.begin(), values_.end());
        return values_[static_cast<size_t>(share * static_cast<double>(values_.size() - 1))];
    }

    // p50, p99, p99.9 and the largest as p50_UNIT, …; scale is the unit in nanoseconds.
    void report(measurement& result, const char* unit, double scale) {
        const auto put = [&](const char* name, double share) {
            const std::string full = std::string(name) + "_" + unit;
            result.add(full.c_str(), static_cast<double>(percentile(share)) / scale);
        };
        put("p50", 0.5);
        put("p99", 0.99);
        put("p999", 0.999);
        put("max", 1.0);
    }

private:
    std::vector<int64_t> values_;
};

}  // namespace bench
