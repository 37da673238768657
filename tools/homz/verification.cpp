#include "tools/homz/verification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/homz/field_warnings.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

using Align = Table::Align;

// What is tested. A recorded bound is not taken on trust: what was asked for is resolved again over the
// original, and the stricter of the two holds.
Status set_limits(const Pair& pair, const Promise& promise, unsigned threads, Verdict* verdict) {
  verdict->bound = promise.bound;
  verdict->abs_bound = promise.abs_error;
  if (!promise.bound || promise.abs_error == 0.0) return Status();
  const ErrorBound& bound = *promise.bound;
  if (bound.mode == BoundMode::psnr) {
    verdict->min_psnr = bound.value;
    return Status();
  }
  const bool relative = bound.mode == BoundMode::relative;
  HOMZ_ASSIGN(const double absolute, resolve(bound, relative ? value_range(pair.field, pair.original,
                                                                           promise.fill_bits, host(threads))
                                                             : ValueRange()));
  verdict->abs_bound = std::min(absolute, promise.abs_error.value_or(absolute));
  return Status();
}

// The bound that the user asked for, resolved over the range that the comparison has found.
void add_warnings(const Pair& pair, const Promise& promise, Verdict* verdict) {
  if (!promise.bound) return;
  const ErrorStatistics& s = verdict->statistics;
  const ValueRange range{s.min, s.max, s.values, s.non_finite, s.fill};
  const auto absolute = resolve(*promise.bound, range);
  if (!absolute.ok()) return;
  if (auto warning =
          outliers_in(pair.field, pair.original, promise.fill_bits, *promise.bound, range, *absolute))
    verdict->warnings.push_back(std::move(*warning));
}

bool psnr_holds(const Verdict& verdict) {
  const ErrorStatistics& s = verdict.statistics;
  return !verdict.min_psnr || s.values == 0 || s.psnr().value_or(0) >= *verdict.min_psnr;
}

std::vector<std::uint64_t> position_of(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> position(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) position[i] = index % shape[i];
  return position;
}

std::string optional_text(const std::optional<double>& value, const char* unit = "") {
  return value ? number_text(*value) + unit : "undefined";
}

// How bounds and errors are written beside each other: alike, so that rounding never puts an error on the
// wrong side of its bound.
std::string (*digits_for(const Verdict& v))(double) {
  const double error = v.statistics.max_abs_error, bound = v.abs_bound.value_or(0);
  return error > bound && number_text(error) == number_text(bound) ? exact_text : number_text;
}

std::string tested_text(const Verdict& v, std::string (*digits)(double)) {
  std::string text;
  if (v.abs_bound) text = *v.abs_bound == 0 ? "bit for bit" : digits(*v.abs_bound) + " absolute";
  if (v.min_psnr) text += fmt::format("{}PSNR >= {} dB", text.empty() ? "" : ", ", *v.min_psnr);
  return text.empty() ? "none" : text;
}

bool untested(const Verdict& v) {
  return v.compared && !v.abs_bound && !v.min_psnr;
}

std::string verdict_text(const Verdict& v) {
  if (!v.readable.ok()) return "UNREADABLE";
  if (!v.not_compared.empty()) return "not compared";
  if (!v.ok) return v.compared ? "VIOLATED" : "DIFFERS";
  if (!v.compared) return "equal";
  if (v.identical && untested(v)) return "equal";
  return untested(v) ? "no bound" : "kept";
}

std::string offender_text(const Verdict& v) {
  const ErrorStatistics& s = v.statistics;
  if (!s.first_violation)
    return fmt::format("PSNR is {}, {} dB was asked for",
                       s.psnr() ? exact_text(*s.psnr()) + " dB" : "undefined", *v.min_psnr);
  const ValuePair& first = *s.first_violation;
  return fmt::format("{} of {} values{}; first at [{}]: original {}, decoded {}, off by {}", s.violations,
                     s.values + s.non_finite + s.fill,
                     s.mismatches == 0 || v.abs_bound == 0.0
                         ? ""
                         : fmt::format(" ({} fill or non-finite value{} changed)", s.mismatches,
                                       s.mismatches == 1 ? "" : "s"),
                     fmt::join(position_of(first.index, v.shape), ", "), exact_text(first.original),
                     exact_text(first.decoded), exact_text(std::abs(first.original - first.decoded)));
}

std::string facts_text(const Verdict& v) {
  const ErrorStatistics& s = v.statistics;
  Facts facts;
  facts.add("dataset", fmt::format("{}, {} {}", printable(v.name), v.type, shape_text(v.shape)));
  facts.add("values",
            fmt::format("{} compared, {} NaN or infinite, {} fill", s.values, s.non_finite, s.fill));
  if (s.values == 0) facts.add("errors", "nothing to compare");
  if (s.values != 0) {
    facts.add("value range", fmt::format("{} .. {}", number_text(s.min), number_text(s.max)));
    facts.add("max abs error", exact_text(s.max_abs_error));
    facts.add("max error / range", optional_text(s.max_error_over_range()));
    facts.add("MSE", optional_text(s.mse()));
    facts.add("RMSE", optional_text(s.rmse()));
    facts.add("NRMSE", optional_text(s.nrmse()) + "   RMSE / range");
    facts.add("PSNR", optional_text(s.psnr(), " dB") + "   20 log10(range / RMSE)");
    facts.add("SNR", optional_text(s.snr(), " dB") + "   10 log10(variance / MSE)");
    facts.add("correlation", optional_text(s.pearson()) + "   Pearson");
  }
  if (v.compressed_bytes != 0 && v.original_bytes != 0) {
    const double part = static_cast<double>(v.compressed_bytes) / static_cast<double>(v.original_bytes);
    facts.add("ratio",
              fmt::format("{} : 1   {} -> {}, inverse {:.4g}, {:.1f} % saved",
                          ratio_text(v.original_bytes, v.compressed_bytes), bytes_text(v.original_bytes),
                          bytes_text(v.compressed_bytes), part, 100 * (1 - part)));
    facts.add("bit rate", optional_text(v.bit_rate(), " bits a value"));
  }
  facts.add("bound", (v.bound ? bound_text(*v.bound) + "; " : std::string()) +
                         "tested: " + tested_text(v, exact_text));
  facts.add("verdict", verdict_text(v));
  return facts.text();
}

std::string table_text(const std::vector<Verdict>& verdicts) {
  Table table({{"dataset", Align::left},
               {"tested bound", Align::left},
               {"max error", Align::right},
               {"/ range", Align::right},
               {"RMSE", Align::right},
               {"NRMSE", Align::right},
               {"PSNR dB", Align::right},
               {"SNR dB", Align::right},
               {"correlation", Align::right},
               {"ratio", Align::right},
               {"bits/value", Align::right},
               {"verdict", Align::left}});
  for (const Verdict& v : verdicts) {
    const ErrorStatistics& s = v.statistics;
    const auto figure = [&](const std::optional<double>& value) {
      return !v.compared || s.values == 0 ? "-" : value ? fmt::format("{:.4g}", *value) : "undefined";
    };
    table.add({printable(v.name),
               v.compared               ? tested_text(v, digits_for(v))
               : v.not_compared.empty() ? "equality"
                                        : "none",
               !v.compared || s.values == 0 ? "-" : digits_for(v)(s.max_abs_error),
               figure(s.max_error_over_range()), figure(s.rmse()), figure(s.nrmse()), figure(s.psnr()),
               figure(s.snr()), !v.compared || s.values == 0 ? "-" : optional_text(s.pearson()),
               v.compressed_bytes == 0 ? "-" : ratio_text(v.original_bytes, v.compressed_bytes),
               v.bit_rate() ? fmt::format("{:.3g}", *v.bit_rate()) : "-", verdict_text(v)});
  }
  return table.text() +
         "\nPSNR is 20 log10(value range / RMSE), SNR is 10 log10(variance / MSE), ratio is original / "
         "compressed.\n";
}

}  // namespace

std::optional<double> Verdict::bit_rate() const {
  const std::uint64_t values = statistics.values + statistics.non_finite + statistics.fill;
  if (compressed_bytes == 0 || values == 0) return std::nullopt;
  return 8 * static_cast<double>(compressed_bytes) / static_cast<double>(values);
}

Status judge(const Pair& pair, const Promise& promise, unsigned threads, Verdict* verdict) {
  HOMZ_TRY(set_limits(pair, promise, threads, verdict));
  verdict->compared = true;
  const Comparison comparison{pair.field.dtype, verdict->abs_bound, promise.fill_bits};
  verdict->statistics = compare(comparison, pair.original, pair.decoded, 0, threads);
  const ErrorStatistics& s = verdict->statistics;
  verdict->ok = s.violations == 0 && psnr_holds(*verdict);
  verdict->identical = s.exact() && std::equal(pair.original.begin(), pair.original.end(),
                                               pair.decoded.begin(), pair.decoded.end());
  add_warnings(pair, promise, verdict);
  return Status();
}

std::string verdicts_text(const std::vector<Verdict>& verdicts) {
  std::string text =
      verdicts.size() == 1 && verdicts[0].compared ? facts_text(verdicts[0]) : table_text(verdicts);
  std::string failures;
  for (const Verdict& v : verdicts)
    if (!v.ok)
      failures += fmt::format("{}: {}\n", printable(v.name), v.compared ? offender_text(v) : v.difference);
  if (!failures.empty()) return text + '\n' + failures;
  const bool all_tested = std::none_of(verdicts.begin(), verdicts.end(),
                                       [](const Verdict& v) { return untested(v) && !v.identical; });
  return all_tested ? text : text + "\nno bound was tested; give --abs, --rel or --psnr\n";
}

Json json_of(const Verdict& v) {
  const ErrorStatistics& s = v.statistics;
  Json json = {
      {"name", v.name}, {"type", v.type}, {"shape", v.shape}, {"ok", v.ok}, {"compared", v.compared}};
  if (!v.compared) {
    json["equal"] = v.not_compared.empty() && v.readable.ok() ? Json(v.ok) : Json(nullptr);
    if (!v.not_compared.empty()) json["not_compared"] = v.not_compared;
    if (!v.ok) json["difference"] = v.difference;
    return json;
  }
  json.update({{"values", s.values},
               {"non_finite", s.non_finite},
               {"fill", s.fill},
               {"min", s.values == 0 ? Json(nullptr) : json_number(s.min)},
               {"max", s.values == 0 ? Json(nullptr) : json_number(s.max)},
               {"max_abs_error", s.values == 0 ? Json(nullptr) : json_number(s.max_abs_error)},
               {"max_error_over_range", json_number(s.max_error_over_range())},
               {"mse", json_number(s.mse())},
               {"rmse", json_number(s.rmse())},
               {"nrmse", json_number(s.nrmse())},
               {"psnr", json_number(s.psnr())},
               {"snr", json_number(s.snr())},
               {"pearson", json_number(s.pearson())}});
  json["requested"] = v.bound ? json_bound(*v.bound) : Json(nullptr);
  json["bound"] = json_number(v.abs_bound);
  json["min_psnr"] = json_number(v.min_psnr);
  json["bound_ok"] = v.abs_bound || v.min_psnr ? Json(v.ok) : Json(nullptr);
  json["violations"] = s.violations;
  json["mismatches"] = s.mismatches;
  json["first_violation"] = nullptr;
  if (s.first_violation)
    json["first_violation"] = {{"index", position_of(s.first_violation->index, v.shape)},
                               {"original", json_number(s.first_violation->original)},
                               {"decoded", json_number(s.first_violation->decoded)}};
  json["identical"] = v.identical;
  if (!v.warnings.empty()) json["warnings"] = v.warnings;
  json["original_bytes"] = v.original_bytes;
  json["compressed_bytes"] = v.compressed_bytes == 0 ? Json(nullptr) : Json(v.compressed_bytes);
  json["ratio"] = json_ratio(v.original_bytes, v.compressed_bytes);
  json["bit_rate"] = json_number(v.bit_rate());
  return json;
}

}  // namespace homz::cli
