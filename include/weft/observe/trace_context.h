// trace_context.h: the trace and span that a green thread works for, where profilers and tracers
// outside of the process look for them.
//
//     weft::observe::trace_scope span({trace, id});  // until the end of the block
//
// See: docs/trace_context.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>

namespace weft::observe {

/// As in the header traceparent of W3C Trace Context, in the order of its digits.
using trace_id = std::array<uint8_t, 16>;
using span_id = std::array<uint8_t, 8>;

/// Text for samples of profilers, by the index of its key: trace_key.
struct trace_attribute {
    uint8_t key;
    std::string_view value;
};

/// An index for the attributes with that name: the same for each call with the name, in the order
/// of first calls. Any thread. Throws std::length_error if there are 256; std::bad_alloc.
[[nodiscard]] uint8_t trace_key(std::string_view name);

/// The names by index, for "threadlocal.attribute_key_map" of the process context of OpenTelemetry.
[[nodiscard]] std::vector<std::string> trace_keys();

/// A trace, a span in it, and attributes; or none. An immutable value; copies share memory. Any
/// thread.
class trace_context {
public:
    /// Bytes of a record, with its attributes: what readers accept.
    static constexpr std::size_t record_most = 640;

    trace_context() noexcept = default;

    /// flags: of W3C, 1: sampled. Throws std::invalid_argument if only one of the two ids is zero,
    /// a value has more than 255 bytes, or the record is larger than record_most; std::bad_alloc.
    trace_context(const trace_id& trace,
                  const span_id& span,
                  uint8_t flags = 0,
                  std::initializer_list<trace_attribute> attributes = {});

    /// From a header traceparent: "00-<32 hexadecimal digits>-<16>-<2>". Throws
    /// std::invalid_argument.
    [[nodiscard]] static trace_context parse(std::string_view traceparent);

    trace_context(const trace_context& other) noexcept;
    trace_context(trace_context&& other) noexcept;
    trace_context& operator=(trace_context other) noexcept;
    ~trace_context();

    [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }

    /// Zeros if it is empty.
    [[nodiscard]] trace_id trace() const noexcept;
    [[nodiscard]] span_id span() const noexcept;
    [[nodiscard]] uint8_t flags() const noexcept;

    /// "" if it has no such attribute.
    [[nodiscard]] std::string_view attribute(uint8_t key) const noexcept;

    /// The same trace and attributes with another span, or with one attribute more or changed.
    /// Requires: not empty, or throws std::invalid_argument. Throws as the constructor.
    [[nodiscard]] trace_context with_span(const span_id& span) const;
    [[nodiscard]] trace_context with(uint8_t key, std::string_view value) const;

    /// The header, or "".
    [[nodiscard]] std::string traceparent() const;

private:
    struct block;
    friend struct trace_access;

    block* block_ = nullptr;
};

/// That of the calling green thread, also in its blocking calls; else of the calling OS thread.
[[nodiscard]] trace_context current_trace() noexcept;

/// Replaces it; an empty one clears it. Green threads that are started with
/// spawn_options::inherit_locals begin with a copy. Throws std::bad_alloc; std::length_error if the
/// program has too many switch_hooks.
void set_current_trace(trace_context context);

/// Sets the current trace until the end of its scope, in the thread that made it, then restores the
/// one before. Throws as set_current_trace.
class trace_scope {
public:
    explicit trace_scope(trace_context context) : before_(current_trace()) { set_current_trace(std::move(context)); }

    ~trace_scope() { set_current_trace(std::move(before_)); }

    trace_scope(const trace_scope&) = delete;
    trace_scope& operator=(const trace_scope&) = delete;

private:
    trace_context before_;
};

}  // namespace weft::observe
