// perfetto_fields.h: numbers of fields and values in Perfetto's trace format.
//
// From the published schema, protos/perfetto/trace/perfetto_trace.proto. The recorder of
// weft::observe and weft::sim write this format, each with what it has to tell.
#pragma once

#include <cstdint>

namespace weft::detail::perfetto {

inline constexpr uint32_t trace_packet = 1;  // of the message Trace

namespace packet {
inline constexpr uint32_t clock_snapshot = 6;
inline constexpr uint32_t timestamp = 8;
inline constexpr uint32_t sequence_id = 10;
inline constexpr uint32_t track_event = 11;
inline constexpr uint32_t interned_data = 12;
inline constexpr uint32_t sequence_flags = 13;
inline constexpr uint32_t compressed_packets = 50;
inline constexpr uint32_t timestamp_clock_id = 58;
inline constexpr uint32_t defaults = 59;
inline constexpr uint32_t track_descriptor = 60;
inline constexpr uint32_t first_on_sequence = 87;
inline constexpr uint32_t state_cleared = 1;  // of sequence_flags
inline constexpr uint32_t needs_state = 2;
}  // namespace packet

namespace descriptor {
inline constexpr uint32_t uuid = 1;
inline constexpr uint32_t name = 2;
inline constexpr uint32_t process = 3;
inline constexpr uint32_t thread = 4;
inline constexpr uint32_t parent = 5;
inline constexpr uint32_t counter = 8;
inline constexpr uint32_t child_ordering = 11;
inline constexpr uint32_t rank = 12;
inline constexpr uint32_t merge_behavior = 15;
inline constexpr uint32_t merge_key = 17;
inline constexpr uint32_t ordered_by_rank = 3;  // of child_ordering
inline constexpr int32_t never_merged = 2;      // of merge_behavior
inline constexpr int32_t merged_by_key = 3;
}  // namespace descriptor

namespace process {
inline constexpr uint32_t pid = 1;
inline constexpr uint32_t name = 6;
}  // namespace process

namespace debug_annotation {
inline constexpr uint32_t string_value = 6;
inline constexpr uint32_t name = 10;
}  // namespace debug_annotation

namespace track_event {
inline constexpr uint32_t debug_annotations = 4;
inline constexpr uint32_t type = 9;
inline constexpr uint32_t name_iid = 10;
inline constexpr uint32_t track_uuid = 11;
inline constexpr uint32_t name = 23;
inline constexpr uint32_t counter_value = 30;
inline constexpr uint32_t double_counter_value = 44;
inline constexpr uint32_t flow_ids = 47;
inline constexpr uint32_t terminating_flow_ids = 48;
inline constexpr uint32_t begin = 1;  // of type
inline constexpr uint32_t end = 2;
inline constexpr uint32_t instant = 3;
inline constexpr uint32_t counter = 4;
}  // namespace track_event

}  // namespace weft::detail::perfetto
