#include "wire.h"

namespace cluster_wordcount {

namespace {

// The first byte of a message.
enum : std::uint64_t { is_chunk = 'C', is_result = 'R' };

void put(std::string& to, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7f) | 0x80);
    to += static_cast<char>(number);
}

void put(std::string& to, std::string_view text) {
    put(to, text.size());
    to += text;
}

class reader {
public:
    explicit reader(std::string_view message) noexcept : rest_(message) {}

    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) throw malformed("the message ends in a number");
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return value;
        }
        throw malformed("a number has more than 64 bits");
    }

    std::string_view text() {
        const std::uint64_t size = number();
        if (size > rest_.size()) throw malformed("the message ends in a text");
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return found;
    }

private:
    std::string_view rest_;
};

}  // namespace

void chunk_text::add_piece(std::string_view text) {
    put(pieces_, text);
    size_ += text.size();
}

std::pair<std::string, chunk_name> chunk_text::to_message(std::uint64_t number) const {
    const chunk_name name(number, wordcount::hash_of(pieces_));
    std::string message;
    put(message, is_chunk);
    put(message, name.first);
    put(message, name.second);
    message += pieces_;
    return {std::move(message), name};
}

chunk_name read_chunk(std::string_view message, const std::function<void(std::string_view)>& visit) {
    reader r(message);
    if (r.number() != is_chunk) throw malformed("it is not a chunk");
    const std::uint64_t number = r.number();
    const std::uint64_t digest = r.number();
    if (wordcount::hash_of(r.rest()) != digest) throw malformed("the text of the chunk was changed");
    while (visit && !r.rest().empty()) visit(r.text());
    return {number, digest};
}

std::string to_message(const chunk_result& r) {
    std::string message;
    put(message, is_result);
    put(message, r.of.first);
    put(message, r.of.second);
    put(message, r.worker);
    put(message, r.deliveries);
    put(message, r.failure);
    for (const std::uint64_t n : {r.totals.bytes, r.totals.lines, r.totals.words, r.totals.long_words}) put(message, n);
    r.words.for_each([&message](const wordcount::word_table::entry& e) {
        put(message, e.word());
        put(message, e.count);
    });
    return message;
}

chunk_result read_result(std::string_view message) {
    reader r(message);
    if (r.number() != is_result) throw malformed("it is not a result");
    chunk_result found;
    found.of.first = r.number();
    found.of.second = r.number();
    found.worker = r.text();
    found.deliveries = r.number();
    found.failure = r.text();
    for (std::uint64_t* n : {&found.totals.bytes, &found.totals.lines, &found.totals.words, &found.totals.long_words})
        *n = r.number();
    while (!r.rest().empty()) {
        const std::string_view word = r.text();
        found.words.add(word, wordcount::hash_of(word), r.number());
    }
    return found;
}

}  // namespace cluster_wordcount
