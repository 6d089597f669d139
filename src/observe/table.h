// table.h: a table as text, for people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weft::observe::detail {

class table {
public:
    // The first `left` columns are flush left, and so is the last one if it has no heading.
    explicit table(std::vector<std::string> heads, std::size_t left = 1)
        : left_(left), widths_(heads.size()), has_free_end_(heads.back().empty()) {
        add(std::move(heads));
    }

    // As many cells as there are columns.
    void add(std::vector<std::string> cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = (std::max)(widths_[i], cells[i].size());
        rows_.push_back(std::move(cells));
    }

    // Two spaces before each line; at most so many rows.
    [[nodiscard]] std::string text(std::size_t most) const {
        std::string all;
        for (std::size_t row = 0; row < (std::min)(rows_.size(), most + 1); ++row) all += line(rows_[row]);
        if (rows_.size() == 1) all += "  none\n";
        if (rows_.size() > most + 1) all += "  … " + std::to_string(rows_.size() - most - 1) + " more\n";
        return all;
    }

private:
    [[nodiscard]] std::string line(const std::vector<std::string>& cells) const {
        std::string text;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string space(widths_[i] - cells[i].size(), ' ');
            const bool is_left = i < left_ || (has_free_end_ && i + 1 == cells.size());
            text += "  ";
            text += is_left ? cells[i] + space : space + cells[i];
        }
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    }

    std::size_t left_;
    std::vector<std::size_t> widths_;
    bool has_free_end_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::observe::detail
