// bench/cliffs.cc: neighbours of a sweep, compared.
#include "bench/cliffs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace rafter::bench {
namespace {

constexpr double kStep = 1.10;

int64_t ValueOf(const CaseResult& result, const std::string& axis) {
  for (const auto& [name, value] : result.sweep) {
    if (name == axis) return value;
  }
  return 0;
}

// What must be equal for two cases to be neighbours along `axis`.
std::string OthersOf(const CaseResult& result, const std::string& axis, bool zipped) {
  std::string text;
  for (const auto& [name, value] : result.sweep) {
    if (name != axis && !zipped) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  if (result.threads != 1) text += fmt::format("{}{} threads", text.empty() ? "" : ", ", result.threads);
  if (result.mode != "hot") text += fmt::format("{}{}", text.empty() ? "" : ", ", result.mode);
  return text;
}

// The time that others took of the core is no property of the layer.
double TimePerFlop(const CaseResult& result) {
  double us = result.time.median;
  for (const Loss& loss : result.losses) us -= loss.name == kSharedCore ? loss.us : 0;
  return us / result.flops_valid;
}

// How far the ratio of two medians may be off, as a factor.
double Doubt(const CaseResult& a, const CaseResult& b) {
  const auto half = [](const CaseResult& c) {
    return c.time.median > 0 ? (c.time.ci_high - c.time.ci_low) / 2 / c.time.median : 0.0;
  };
  return 1 + std::hypot(half(a), half(b));
}

// The share of the time that each loss takes, and how it changed.
std::pair<std::string, std::string> ChangedLoss(const CaseResult& from, const CaseResult& to, bool dearer) {
  std::map<std::string, double> change;
  std::map<std::string, std::string> why;
  for (const Loss& loss : from.losses) {
    if (loss.name == kSharedCore) continue;
    change[loss.name] -= loss.us / from.flops_valid;
    why[loss.name] = loss.why;
  }
  for (const Loss& loss : to.losses) {
    if (loss.name == kSharedCore) continue;
    change[loss.name] += loss.us / to.flops_valid;
    why[loss.name] = loss.why;
  }
  std::string best;
  double most = 0;
  for (const auto& [name, amount] : change) {
    if ((dearer ? amount : -amount) > most) {
      most = dearer ? amount : -amount;
      best = name;
    }
  }
  // A loss that explains only a small part of the step is not its cause.
  const double step = std::abs(TimePerFlop(to) - TimePerFlop(from));
  if (best.empty() || most < 0.3 * step) return {"unexplained", ""};
  return {best, why[best]};
}

void NameCause(const CaseResult& from, const CaseResult& to, Cliff& cliff) {
  std::string detail;
  if (from.binding != to.binding && !from.binding.empty() && !to.binding.empty()) {
    cliff.cause = "roof";
    detail = fmt::format("the roof changes from {} to {}", from.binding, to.binding);
  } else if (from.algorithm != to.algorithm) {
    cliff.cause = "algorithm";
    detail = fmt::format("the algorithm changes from {} to {}", from.algorithm, to.algorithm);
  } else {
    std::string why;
    std::tie(cliff.cause, why) = ChangedLoss(from, to, cliff.ratio > 1);
    detail = cliff.cause + (why.empty() ? "" : " (" + why + ")");
  }
  cliff.text += ": " + detail;
}

void Compare(std::span<const CaseResult> cases, const std::string& axis, const std::string& others,
             std::vector<size_t>& indices, std::vector<Cliff>& cliffs) {
  std::stable_sort(indices.begin(), indices.end(),
                   [&](size_t a, size_t b) { return ValueOf(cases[a], axis) < ValueOf(cases[b], axis); });
  for (size_t i = 1; i < indices.size(); ++i) {
    const CaseResult &from = cases[indices[i - 1]], &to = cases[indices[i]];
    const double ratio = TimePerFlop(to) / TimePerFlop(from);
    if (std::max(ratio, 1 / ratio) < kStep * Doubt(from, to)) continue;
    Cliff cliff{axis, ValueOf(from, axis), ValueOf(to, axis), indices[i], ratio, "", ""};
    cliff.text = fmt::format("{} {} -> {}{}: each FLOP takes {:.0f} % {}", axis, cliff.from, cliff.to,
                             others.empty() ? "" : " (" + others + ")", std::abs(ratio - 1) * 100,
                             ratio > 1 ? "longer" : "less");
    NameCause(from, to, cliff);
    cliffs.push_back(std::move(cliff));
  }
}

}  // namespace

std::vector<Cliff> FindCliffs(std::span<const CaseResult> cases, bool zipped) {
  std::vector<std::string> axes;
  for (const CaseResult& result : cases) {
    for (const auto& [name, value] : result.sweep) {
      if (std::find(axes.begin(), axes.end(), name) == axes.end()) axes.push_back(name);
    }
  }
  if (zipped && !axes.empty()) axes.resize(1);
  std::vector<Cliff> cliffs;
  for (const std::string& axis : axes) {
    std::map<std::string, std::vector<size_t>> groups;
    for (size_t i = 0; i < cases.size(); ++i) {
      const CaseResult& result = cases[i];
      if (result.sweep.empty() || !result.error.empty() || !(result.flops_valid > 0) || !(result.time.median > 0)) {
        continue;
      }
      groups[OthersOf(result, axis, zipped)].push_back(i);
    }
    for (auto& [others, indices] : groups) Compare(cases, axis, others, indices, cliffs);
  }
  return cliffs;
}

}  // namespace rafter::bench
