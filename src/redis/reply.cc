// reply.cc: see weft/redis/reply.h.
#include <string>
#include <system_error>
#include <utility>

#include <weft/redis/reply.h>

#include "base/read_number.h"

namespace weft::redis {

namespace {

const char* name_of(reply::kind k) noexcept {
    switch (k) {
        case reply::kind::nil:
            return "nil";
        case reply::kind::integer:
            return "an integer";
        case reply::kind::text:
            return "text";
        case reply::kind::status:
            return "a status";
        case reply::kind::error:
            return "an error";
        case reply::kind::array:
            return "an array";
    }
    return "nothing";
}

// The recursion is bounded: hiredis refuses replies with more nested arrays.
void write_reply(const reply& r, std::string& to) {
    switch (r.what()) {
        case reply::kind::nil:
            to += "(nil)";
            return;
        case reply::kind::integer:
            to += std::to_string(r.integer());
            return;
        case reply::kind::error:
            to.append("(error) ").append(r.text());
            return;
        case reply::kind::array:
            if (r.size() == 0) to += "(empty)";
            for (std::size_t i = 0; i < r.size(); ++i) {
                if (i != 0) to += '\n';
                write_reply(r[i], to);
            }
            return;
        case reply::kind::text:
        case reply::kind::status:
            to += r.text();
            return;
    }
}

// The whole of the text must be a number.
template <typename T>
T parsed(const reply& r, const char* wanted) {
    const std::string& text = r.text();
    T value{};
    if (!weft::detail::read_number(text, value)) detail::throw_wrong_kind(r, wanted);
    return value;
}

}  // namespace

reply reply::of_integer(int64_t value) {
    reply r;
    r.kind_ = kind::integer;
    r.integer_ = value;
    return r;
}

reply reply::of_text(kind k, std::string text) {
    reply r;
    r.kind_ = k;
    r.text_ = std::move(text);
    return r;
}

reply reply::of_array(std::vector<reply> elements) {
    reply r;
    r.kind_ = kind::array;
    r.elements_ = std::move(elements);
    return r;
}

int64_t reply::integer() const {
    if (kind_ != kind::integer) detail::throw_wrong_kind(*this, "an integer");
    return integer_;
}

const std::string& reply::text() const {
    if (kind_ != kind::text && kind_ != kind::status && kind_ != kind::error) detail::throw_wrong_kind(*this, "text");
    return text_;
}

const reply& reply::operator[](std::size_t index) const {
    if (index >= elements_.size()) detail::throw_wrong_kind(*this, "an array with more elements");
    return elements_[index];
}

void reply::throw_if_error() const {
    if (kind_ == kind::error) throw server_error(text_);
}

std::string reply::to_string() const {
    std::string text;
    write_reply(*this, text);
    return text;
}

namespace detail {

void throw_wrong_kind(const reply& got, const char* wanted) {
    constexpr std::size_t shown = 60;
    throw std::system_error(errc::wrong_kind, std::string("weft: a Redis reply was read as ") + wanted + ", but is " +
                                                  name_of(got.what()) + ": " + got.to_string().substr(0, shown));
}

int64_t integer_of(const reply& r) {
    return r.what() == reply::kind::integer ? r.integer() : parsed<int64_t>(r, "an integer");
}

double double_of(const reply& r) {
    if (r.what() == reply::kind::integer) return static_cast<double>(r.integer());
    return parsed<double>(r, "a number");
}

bool bool_of(const reply& r) {
    if (r.what() == reply::kind::status && r.text() == "OK") return true;
    return integer_of(r) != 0;
}

void check_array(const reply& r) {
    if (!r.is_array()) throw_wrong_kind(r, "an array");
}

}  // namespace detail

}  // namespace weft::redis
