// bench/sweep.cc: parsing of axes, and the problems that they make.
#include "bench/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bench/layer_fields.h"
#include "bench/printable.h"
#include "rafter/cost.h"

namespace rafter::bench {
namespace {

constexpr std::string_view kSweptFields[] = {"mb", "g",  "ic", "oc", "ih", "iw", "kh",   "kw",     "sh",     "sw",
                                             "ph", "pw", "dh", "dw", "c",  "size", "kernel", "stride", "pad",
                                             "dilation"};
constexpr size_t kMostValues = 4096;

Status WrongSweep(std::string_view text, std::string_view allowed) {
  return Status::InvalidArgument(fmt::format("--sweep: '{}' is not allowed; allowed: {}", Printable(text), allowed));
}

std::string AllNames() {
  std::string names;
  for (const std::string_view name : kSweptFields) names += fmt::format("{}{}", names.empty() ? "" : " ", name);
  return names;
}

// "7", "16:256:16" or "16:1024:*2".
bool AppendValues(std::string_view text, std::vector<int64_t>& values) {
  const size_t first_colon = text.find(':');
  if (first_colon == std::string_view::npos) {
    const auto value = ReadNumber(text);
    if (value) values.push_back(*value);
    return value.has_value();
  }
  const size_t second_colon = text.find(':', first_colon + 1);
  if (second_colon == std::string_view::npos) return false;
  const auto low = ReadNumber(text.substr(0, first_colon));
  const auto high = ReadNumber(text.substr(first_colon + 1, second_colon - first_colon - 1));
  std::string_view step_text = text.substr(second_colon + 1);
  const bool geometric = step_text.starts_with('*');
  if (geometric) step_text.remove_prefix(1);
  const auto step = ReadNumber(step_text);
  if (!low || !high || !step || *low > *high || *step < (geometric ? 2 : 1) || (geometric && *low < 1)) return false;
  for (int64_t value = *low; value <= *high && values.size() <= kMostValues;) {
    values.push_back(value);
    value = geometric ? value * *step : value + *step;
  }
  return true;
}

bool Unique(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

using Values = std::vector<std::pair<std::string, int64_t>>;

bool Has(const Values& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
}

// One problem of the sweep.
class Combination {
 public:
  Combination(const ConvDesc& base, const Values& values) : desc_(base), values_(values) {
    square_ = base.in.h == base.in.w && base.kernel.h == base.kernel.w && base.stride.h == base.stride.w &&
              base.dilation.h == base.dilation.w && base.pad.top == base.pad.left;
    depthwise_ = base.groups > 1 && base.groups == base.ic && base.groups == base.oc;
    same_h_ = base.pad.top + base.pad.bottom == (base.kernel.h - 1) * base.dilation.h;
    same_w_ = base.pad.left + base.pad.right == (base.kernel.w - 1) * base.dilation.w;
  }

  ConvDesc Make() {
    for (const auto& [name, value] : values_) Set(name, value);
    KeepSize(same_h_ && !Has(values_, "ph") && !Has(values_, "pad"), desc_.kernel.h, desc_.dilation.h, desc_.pad.top,
             desc_.pad.bottom);
    const bool set_w = Has(values_, "pw") || Has(values_, "pad") || (square_ && Has(values_, "ph"));
    KeepSize(same_w_ && !set_w, desc_.kernel.w, desc_.dilation.w, desc_.pad.left, desc_.pad.right);
    return desc_;
  }

 private:
  static void KeepSize(bool wanted, int64_t kernel, int64_t dilation, int64_t& begin, int64_t& end) {
    if (!wanted) return;
    const int64_t all = (kernel - 1) * dilation;
    begin = all / 2;
    end = all - begin;
  }

  void SetSize(Size2& size, char axis, std::string_view w_name, int64_t value) {
    if (axis != 'w') size.h = value;
    if (axis == 'w' || axis == 'b' || (square_ && !Has(values_, w_name))) size.w = value;
  }

  void SetPad(char axis, int64_t value) {
    if (axis != 'w') desc_.pad.top = desc_.pad.bottom = value;
    if (axis == 'w' || axis == 'b' || (square_ && !Has(values_, "pw"))) desc_.pad.left = desc_.pad.right = value;
  }

  void Set(std::string_view name, int64_t value) {
    if (name == "mb") desc_.n = value;
    if (name == "g") desc_.groups = value;
    if (name == "ic" || name == "c") desc_.ic = value;
    if (name == "oc" || name == "c") desc_.oc = value;
    if (name == "c" && depthwise_) desc_.groups = value;
    const char axis = name.size() == 2 ? name[1] : 'b';  // both
    if (name == "ih" || name == "iw" || name == "size") SetSize(desc_.in, axis, "iw", value);
    if (name == "kh" || name == "kw" || name == "kernel") SetSize(desc_.kernel, axis, "kw", value);
    if (name == "sh" || name == "sw" || name == "stride") SetSize(desc_.stride, axis, "sw", value);
    if (name == "dh" || name == "dw") SetSize(desc_.dilation, axis, "dw", value + 1);
    if (name == "dilation") desc_.dilation = {value, value};
    if (name == "ph" || name == "pw" || name == "pad") SetPad(axis, value);
  }

  ConvDesc desc_;
  const Values& values_;
  bool square_ = false, depthwise_ = false, same_h_ = false, same_w_ = false;
};

std::string NameOf(const Values& values) {
  std::string name;
  for (const auto& [axis, value] : values) name += fmt::format("{}{}={}", name.empty() ? "" : " ", axis, value);
  return name;
}

// The combination of number `index`, the last axis running fastest.
Values ValuesAt(const Sweep& sweep, int64_t index) {
  Values values(sweep.axes.size());
  for (size_t i = sweep.axes.size(); i-- > 0;) {
    const std::vector<int64_t>& of_axis = sweep.axes[i].values;
    const auto count = static_cast<int64_t>(of_axis.size());
    values[i] = {sweep.axes[i].name, of_axis[static_cast<size_t>(sweep.zip ? index : index % count)]};
    if (!sweep.zip) index /= count;
  }
  return values;
}

int64_t CountOf(const Sweep& sweep) {
  if (sweep.zip) return static_cast<int64_t>(sweep.axes.front().values.size());
  int64_t count = 1;
  for (const SweepAxis& axis : sweep.axes) {
    count *= static_cast<int64_t>(axis.values.size());
    if (count > kMostSweepCases) break;
  }
  return count;
}

Status CheckAxes(const Sweep& sweep, std::string_view text) {
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.values.empty()) return WrongSweep(axis.name + "=", "at least one value");
    if (axis.values.size() > kMostValues) return WrongSweep(axis.name, fmt::format("at most {} values", kMostValues));
    // Side by side only the first axis tells the cases apart.
    const bool tells_apart = !sweep.zip || &axis == &sweep.axes.front();
    if (tells_apart && !Unique(axis.values)) {
      return WrongSweep(axis.name, sweep.zip ? "each value once in the first axis" : "each value once");
    }
    if (std::count_if(sweep.axes.begin(), sweep.axes.end(),
                      [&](const SweepAxis& other) { return other.name == axis.name; }) > 1) {
      return WrongSweep(axis.name, "each axis once");
    }
    if (sweep.zip && axis.values.size() != sweep.axes.front().values.size()) {
      return WrongSweep(axis.name, fmt::format("as many values as '{}' has ({}), since they are walked side by side",
                                          sweep.axes.front().name, sweep.axes.front().values.size()));
    }
  }
  if (CountOf(sweep) > kMostSweepCases) return WrongSweep(text, fmt::format("at most {} cases", kMostSweepCases));
  return {};
}

}  // namespace

Result<Sweep> ParseSweep(std::string_view text, bool zip) {
  Sweep sweep;
  sweep.zip = zip;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    std::string_view piece = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    if (const size_t equals = piece.find('='); equals != std::string_view::npos) {
      const std::string_view name = piece.substr(0, equals);
      if (std::find(std::begin(kSweptFields), std::end(kSweptFields), name) == std::end(kSweptFields)) {
        return WrongSweep(name, AllNames());
      }
      sweep.axes.push_back({std::string(name), {}});
      piece.remove_prefix(equals + 1);
    }
    if (sweep.axes.empty()) return WrongSweep(text, "axes such as oc=16:256:16,kh=1,3,5 with names " + AllNames());
    if (!AppendValues(piece, sweep.axes.back().values)) {
      return WrongSweep(sweep.axes.back().name + "=" + std::string(piece),
                   "whole numbers from 0 to 2147483648, first:last:step, or first:last:*factor");
    }
  }
  if (Status status = CheckAxes(sweep, text); !status.ok()) return status;
  return sweep;
}

Result<SweepCases> ExpandSweep(const Sweep& sweep, const Descriptor& base) {
  SweepCases result;
  const int64_t count = CountOf(sweep);
  for (int64_t i = 0; i < count; ++i) {
    SuiteCase one;
    one.sweep = ValuesAt(sweep, i);
    one.descriptor = base;
    one.descriptor.name = NameOf(one.sweep);
    one.descriptor.desc = Combination(base.desc, one.sweep).Make();
    const Result<ConvCost> cost = rafter::CostOf(one.descriptor.desc);
    if (!cost.ok()) {
      result.left_out.push_back(one.descriptor.name + ": " + std::string(cost.status().message()));
      continue;
    }
    one.descriptor.text = PrintDescriptor(one.descriptor.desc, DescriptorForm::kCanonical, one.descriptor.name);
    result.cases.push_back(std::move(one));
  }
  if (result.cases.empty()) {
    return Status::InvalidArgument("--sweep: no combination is a valid problem; the first: " + result.left_out.front());
  }
  return result;
}

nlohmann::ordered_json SweepToJson(const Sweep& sweep, const Descriptor& base) {
  nlohmann::ordered_json json = {{"base", PrintDescriptor(base.desc, DescriptorForm::kCanonical)},
                                 {"kind", sweep.zip ? "zip" : "product"}};
  json["axes"] = nlohmann::ordered_json::array();
  for (const SweepAxis& axis : sweep.axes) json["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
  return json;
}

}  // namespace rafter::bench
