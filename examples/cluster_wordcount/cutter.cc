#include "cutter.h"

#include <utility>

namespace cluster_wordcount {

namespace {

constexpr std::string_view white_space = " \t\n\v\f\r";

}  // namespace

void cutter::feed(const std::string& path, std::string_view block) {
    if (file_ != path) {
        file_ = path;
        offset_ = 0;
    }
    kept_ += block;
    if (in_run_) skip_run();
    while (kept_.size() >= size_) cut();
}

// Moves a piece of at most size_ bytes into a chunk.
void cutter::cut() {
    const std::size_t last = kept_.find_last_of(white_space, size_ - 1);
    if (last == std::string::npos) return skip_run();
    add_piece(last + 1);
    flush();
}

// Counts what is kept up to the next white space.
void cutter::skip_run() {
    const std::size_t end = kept_.find_first_of(white_space);
    const std::size_t size = end == std::string::npos ? kept_.size() : end;
    own_.feed(std::string_view(kept_).substr(0, size));
    kept_.erase(0, size);
    offset_ += size;
    in_run_ = end == std::string::npos;
    if (!in_run_) own_.end_file();
}

void cutter::end_file() {
    own_.end_file();
    in_run_ = false;
    if (!kept_.empty()) add_piece(kept_.size());
    if (text_.size() >= size_) flush();
    file_.clear();
}

void cutter::finish() {
    if (text_.size() != 0) flush();
}

void cutter::add_piece(std::size_t size) {
    if (text_.size() == 0) where_ = file_ + ", from byte " + std::to_string(offset_);
    text_.add_piece(std::string_view(kept_).substr(0, size));
    kept_.erase(0, size);
    offset_ += size;
}

void cutter::flush() {
    const std::size_t bytes = text_.size();
    auto [message, name] = std::exchange(text_, {}).to_message(next_++);
    send_({name, std::move(message), std::move(where_), bytes});
}

}  // namespace cluster_wordcount
