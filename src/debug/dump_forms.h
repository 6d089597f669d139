// dump_forms.h: the forms in which a dump shows its groups.
//
// Threads: one.
#pragma once

#include <cstdint>

#include "debug/stack_groups.h"
#include "lifecycle/report.h"

namespace weft::detail {

struct scheduler;

// One dump, in one form: begin(), then show() for each group, then end().
class dump_writer {
public:
    dump_writer(report& out, const family& creators, int64_t now_ns) noexcept
        : out_(out), creators_(creators), now_ns_(now_ns) {}

    virtual void begin(const scheduler& s) noexcept = 0;
    virtual void show(const stack_group& group) noexcept = 0;
    virtual void end() noexcept = 0;

protected:
    ~dump_writer() = default;

    // For how long the G has been in its state; -1: unknown.
    [[nodiscard]] int64_t since(int64_t since_ns) const noexcept {
        return since_ns == 0 || since_ns > now_ns_ ? -1 : now_ns_ - since_ns;
    }

    report& out_;
    const family& creators_;
    int64_t now_ns_;
};

// For people; docs/debugging.md explains each line.
class text_writer final : public dump_writer {
public:
    using dump_writer::dump_writer;
    void begin(const scheduler& s) noexcept override;
    void show(const stack_group& group) noexcept override;

    void end() noexcept override {}

private:
    void print_headline(const stack_group& group) noexcept;
    void print_ids(const stack_group& group) noexcept;
    void print_creators(const stack_group& group) noexcept;
};

// One line per group, as flame graph tools read it: "place;outermost;…;innermost;[sleep] 17".
class folded_writer final : public dump_writer {
public:
    using dump_writer::dump_writer;

    void begin(const scheduler&) noexcept override {}

    void show(const stack_group& group) noexcept override;

    void end() noexcept override {}

private:
    void print_frame(const char* text) noexcept;
};

// {"format":"weft.dump/1", …}
class json_writer final : public dump_writer {
public:
    using dump_writer::dump_writer;
    void begin(const scheduler& s) noexcept override;
    void show(const stack_group& group) noexcept override;
    void end() noexcept override;

private:
    void print_text(const char* text) noexcept;
    void print_frame(const void* pc, bool is_return_address, bool is_first) noexcept;
    void print_stack(const g_snapshot& g) noexcept;

    bool is_first_ = true;
};

}  // namespace weft::detail
