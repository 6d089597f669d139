// labels.cc: see labels.h and weft/labels.h.
#include "per_g/labels.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <weft/go.h>

#include "base/assert.h"
#include "sched/recording.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

// A set: this header, count entries, and their text.
struct label_block {
    struct entry {
        uint32_t key_at;  // from the start of the text
        uint32_t key_size;
        uint32_t value_at;
        uint32_t value_size;
    };

    atomic<uint32_t> owners{1};
    uint32_t count = 0;

    [[nodiscard]] entry* entries() noexcept { return reinterpret_cast<entry*>(this + 1); }

    [[nodiscard]] WEFT_NO_SANITIZE const entry* entries() const noexcept {
        return reinterpret_cast<const entry*>(this + 1);
    }

    [[nodiscard]] WEFT_NO_SANITIZE const char* text() const noexcept {
        return reinterpret_cast<const char*>(entries() + count);
    }

    [[nodiscard]] label at(std::size_t i) const noexcept {
        const entry& e = entries()[i];
        return {{text() + e.key_at, e.key_size}, {text() + e.value_at, e.value_size}};
    }

    // adopt: a set that takes over b's reference; surrender: that of a set.
    [[nodiscard]] static label_set adopt(label_block* b) noexcept {
        label_set all;
        all.block_ = b;
        return all;
    }

    [[nodiscard]] static label_block* surrender(label_set& all) noexcept { return std::exchange(all.block_, nullptr); }

    // Joins first and second, which wins. Each is called for label i. Throws std::bad_alloc.
    template <typename First, typename Second>
    static label_set join(const First& first, std::size_t first_size, const Second& second, std::size_t second_size);
};

namespace {

template <typename Labels>
bool has_key_from(const Labels& labels, std::size_t from, std::size_t size, std::string_view key) {
    for (std::size_t i = from; i < size; ++i) {
        if (labels(i).key == key) return true;
    }
    return false;
}

}  // namespace

template <typename First, typename Second>
label_set label_block::join(const First& first, std::size_t first_size, const Second& second, std::size_t second_size) {
    const auto for_each_kept = [&](auto&& use) {
        for (std::size_t i = 0; i < first_size; ++i) {
            if (!has_key_from(second, 0, second_size, first(i).key)) use(first(i));
        }
        for (std::size_t i = 0; i < second_size; ++i) {
            if (!has_key_from(second, i + 1, second_size, second(i).key)) use(second(i));
        }
    };
    std::size_t count = 0;
    std::size_t bytes = 0;
    for_each_kept([&](const label& l) {
        ++count;
        bytes += l.key.size() + l.value.size();
    });
    if (count == 0) return {};
    if (count + bytes > UINT32_MAX) throw std::bad_alloc();
    void* memory = ::operator new(sizeof(label_block) + count * sizeof(entry) + bytes);
    auto* b = ::new (memory) label_block;
    b->count = static_cast<uint32_t>(count);
    entry* e = b->entries();
    char* text = reinterpret_cast<char*>(e + count);
    uint32_t at = 0;
    const auto keep = [&](std::string_view part) {
        if (!part.empty()) std::memcpy(text + at, part.data(), part.size());
        at += static_cast<uint32_t>(part.size());
    };
    for_each_kept([&](const label& l) {
        ::new (static_cast<void*>(e))
            entry{at, static_cast<uint32_t>(l.key.size()), at + static_cast<uint32_t>(l.key.size()),
                  static_cast<uint32_t>(l.value.size())};
        ++e;
        keep(l.key);
        keep(l.value);
    });
    return adopt(b);
}

void retain_labels(label_block* b) noexcept { b->owners.fetch_add(1, relaxed); }  // relaxed: the caller keeps it

void release_labels(label_block* b) noexcept {
    if (b->owners.fetch_sub(1, acq_rel) == 1) ::operator delete(b);  // pairs with the other owners'
}

namespace {

// Steps 1 to 3.
label_block* take_labels(G& g) noexcept {
    if ((g.traits & trait::labelled) == 0) return nullptr;
    g.traits &= static_cast<uint8_t>(~trait::labelled);
    label_block* b = g.labels;
    __atomic_store_n(&g.labels, nullptr, __ATOMIC_RELAXED);
    compiler_fence();
    if ((g.special.load(relaxed_own) & special::no_fence) != 0) WEFT_FULL_FENCE();
    for (uint32_t i = 0; (g.special.load(acquire) & special::frozen) != 0; ++i) spin_backoff(i);  // pairs with the thaw
    return b;
}

void give_labels(G* g, label_block* b) noexcept {
    __atomic_store_n(&g->labels, b, __ATOMIC_RELEASE);  // publishes its content to dumps
    g->traits |= trait::labelled;
}

struct cut_text {
    char* at;
    std::size_t room;

    WEFT_NO_SANITIZE void put(const volatile char* from, std::size_t size) noexcept {
        for (std::size_t i = 0; i < size && room != 0; ++i, --room) {
            const char c = from[i];
            *at++ = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;  // a line of a dump stays one line
        }
    }

    WEFT_NO_SANITIZE void end() noexcept {
        *at++ = '\0';
        --room;
    }
};

}  // namespace

void inherit_labels(G* g, const G* from) noexcept {
    retain_labels(from->labels);
    give_labels(g, from->labels);
}

label_set labels_of(const G& g) noexcept {
    if ((g.traits & trait::labelled) == 0) return {};
    retain_labels(g.labels);
    return label_block::adopt(g.labels);
}

void replace_labels(G& g, label_set labels) noexcept {
    drop_labels(g);
    label_block* b = label_block::surrender(labels);
    if (b != nullptr) give_labels(&g, b);
}

void drop_labels(G& g) noexcept {
    if (label_block* b = take_labels(g)) release_labels(b);
}

WEFT_NO_SANITIZE bool describe_labels(const G& g, char* text, std::size_t size) noexcept {
    if ((g.traits & trait::labelled) == 0) return false;
    const label_block* b = __atomic_load_n(&g.labels, __ATOMIC_ACQUIRE);  // pairs with give_labels
    if (b == nullptr) return false;
    static constexpr char cut[] = "…";
    cut_text out{text, size - sizeof(cut)};
    for (uint32_t i = 0; i < b->count; ++i) {
        const label_block::entry& e = b->entries()[i];
        if (i != 0) out.put(", ", 2);
        out.put(b->text() + e.key_at, e.key_size);
        out.put("=", 1);
        out.put(b->text() + e.value_at, e.value_size);
    }
    if (out.room == 0) {
        for (std::size_t i = 0; i + 1 < sizeof(cut); ++i) *out.at++ = cut[i];
    }
    *out.at = '\0';
    return true;
}

WEFT_NO_SANITIZE std::size_t pack_labels(const G& g, char* text, std::size_t size) noexcept {
    if ((g.traits & trait::labelled) == 0) return 0;
    const label_block* b = __atomic_load_n(&g.labels, __ATOMIC_ACQUIRE);  // pairs with give_labels
    if (b == nullptr) return 0;
    cut_text out{text, size};
    for (uint32_t i = 0; i < b->count; ++i) {
        const label_block::entry& e = b->entries()[i];
        if (std::size_t{e.key_size} + e.value_size + 2 > out.room) continue;
        out.put(b->text() + e.key_at, e.key_size);
        out.end();
        out.put(b->text() + e.value_at, e.value_size);
        out.end();
    }
    return size - out.room;
}

// In a handler that interrupts take_labels: either the trait is gone, or the G still owns the set.
WEFT_NO_SANITIZE label_set share_labels(const G& g) noexcept {
    if ((__atomic_load_n(&g.traits, __ATOMIC_RELAXED) & trait::labelled) == 0) return {};
    label_block* b = __atomic_load_n(&g.labels, __ATOMIC_ACQUIRE);  // pairs with give_labels
    if (b == nullptr) return {};
    retain_labels(b);
    return label_block::adopt(b);
}

}  // namespace detail

label_set::label_set(std::initializer_list<label> labels) {
    const auto none = [](std::size_t) { return label{}; };
    const auto all = [&](std::size_t i) { return labels.begin()[i]; };
    *this = detail::label_block::join(none, 0, all, labels.size());
}

std::size_t label_set::size() const noexcept { return block_ == nullptr ? 0 : block_->count; }

label label_set::operator[](std::size_t i) const noexcept {
    WEFT_ASSERT(i < size());
    return block_->at(i);
}

std::string_view label_set::find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
        if (block_->at(i).key == key) return block_->at(i).value;
    }
    return {};
}

label_set label_set::with(const label_set& more) const {
    if (more.empty()) return *this;
    if (empty()) return more;
    const auto mine = [this](std::size_t i) { return block_->at(i); };
    const auto theirs = [&](std::size_t i) { return more.block_->at(i); };
    return detail::label_block::join(mine, size(), theirs, more.size());
}

label_set label_set::with(std::string_view key, std::string_view value) const {
    const auto mine = [this](std::size_t i) { return block_->at(i); };
    const auto one = [&](std::size_t) { return label{key, value}; };
    return detail::label_block::join(mine, size(), one, 1);
}

namespace this_g {

label_set labels() noexcept {
    const detail::M* m = detail::current_g_m();
    return m == nullptr ? label_set{} : detail::labels_of(*m->g);
}

void set_labels(label_set labels) noexcept {
    detail::M* m = detail::current_g_m();
    if (m == nullptr) return;
    detail::replace_labels(*m->g, std::move(labels));
    if ((m->g->special.load(detail::relaxed_hint) & detail::special::traced) == 0) return;
    static_cast<void>(detail::enter(m));  // with or without a P, nothing interrupts it
    detail::record_labels(m, *m->g);
    detail::leave(m);
}

void set_label(std::string_view key, std::string_view value) {
    const detail::M* m = detail::current_g_m();
    if (m != nullptr) set_labels(detail::labels_of(*m->g).with(key, value));
}

}  // namespace this_g

}  // namespace weft
