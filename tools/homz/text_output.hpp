// What people read: numbers with units, aligned tables, names that cannot upset a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error_bound.hpp"
#include "core/status.hpp"

namespace homz::cli {

// The text with control bytes and bytes that are no UTF-8 written as \xNN.
std::string printable(std::string_view text);

std::string bytes_text(std::uint64_t bytes);  // "999 B", "12.3 MB" (powers of 1000)
std::string ratio_text(std::uint64_t original, std::uint64_t stored);
std::string number_text(double value);  // six significant digits
std::string exact_text(double value);   // shortest text that parses back to the same bits
std::string shape_text(const std::vector<std::uint64_t>& shape);  // "100x500x500", "scalar"
std::string bound_text(const ErrorBound& bound);                  // "0.001 relative to the value range"

// Rows of cells under a header; numbers are right-aligned.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text(std::string_view indent = "") const;  // lines, each with its newline

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "label   value" lines.
class Facts {
 public:
  void add(std::string label, std::string value) { table_.add({std::move(label), std::move(value)}); }
  std::string text(std::string_view indent = "") const { return table_.text(indent); }

 private:
  Table table_{{{}, {}}};
};

// A line on standard error, made printable.
void warn(std::string_view text);

// Standard output. A reader that has gone away is no error; a full disk is.
void print(std::string_view text);
Status finish_output();

}  // namespace homz::cli
