// bench/roofline_svg.cc: the drawing itself. Lengths are in SVG user units (pixels at 100 %).
#include "bench/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace rafter::bench {
namespace {

constexpr double kWidth = 860, kHeight = 560;
constexpr double kLeft = 70, kRight = 20, kTop = 46, kBottom = 92;
constexpr double kMostRadius = 13, kLeastRadius = 3;

// One axis: powers of two to positions.
struct Scale {
  double low = 0, high = 1;  // log2 of the ends
  double from = 0, to = 1;   // positions of the ends
  double At(double value) const { return from + (std::log2(value) - low) / (high - low) * (to - from); }
};

std::string PowerText(int exponent) {
  return exponent >= 0 ? fmt::format("{:.0f}", std::exp2(exponent)) : fmt::format("1/{:.0f}", std::exp2(-exponent));
}

class Drawing {
 public:
  Drawing(const RooflinePlot& plot, const RooflineView& view) : plot_(plot), view_(view) { ChooseScales(); }

  std::string Draw() {
    Add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n",
        kWidth, kHeight);
    Add("<title>Roofline</title><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    Add("<text x=\"{}\" y=\"20\" font-size=\"14\">{}, {} thread{}{}</text>\n", kLeft, EscapeXml(plot_.machine),
        view_.threads, view_.threads == 1 ? "" : "s", view_.isa.empty() ? "" : ", " + EscapeXml(view_.isa));
    DrawGrid();
    DrawSheets();
    DrawRoofs();
    DrawDots();
    DrawLegend();
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void ChooseScales() {
    double left = 1, right = 1, low = std::numeric_limits<double>::infinity(), high = 1;
    const auto widen = [&](double x, double y) {
      left = std::min(left, x);
      right = std::max(right, x);
      low = std::min(low, y);
      high = std::max(high, y);
    };
    for (const RooflineDot& dot : view_.dots) widen(dot.intensity, dot.gflops);
    for (const RoofLevel& level : view_.levels) right = std::max(right, level.ridge * 4);
    if (view_.peak_gflops > 0) widen(1, view_.peak_gflops);
    for (const DataSheetRoof& sheet : plot_.sheets) {
      const bool shown = sheet.threads == 0 || sheet.threads == view_.threads;
      if (shown && sheet.gflops < 64 * view_.peak_gflops) high = std::max(high, sheet.gflops);
    }
    if (!std::isfinite(low)) low = 1;
    x_ = {std::floor(std::log2(left)), std::ceil(std::log2(right)), kLeft, kWidth - kRight};
    y_ = {std::floor(std::log2(low)) - 1, std::ceil(std::log2(high) + 0.3), kHeight - kBottom, kTop};
    if (x_.high <= x_.low) x_.high = x_.low + 1;
  }

  void Line(double x0, double y0, double x1, double y1, const char* style) {
    Add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0, x1, y1, style);
  }

  void DrawGrid() {
    for (int e = static_cast<int>(x_.low); e <= static_cast<int>(x_.high); ++e) {
      const double x = x_.At(std::exp2(e));
      Line(x, y_.from, x, y_.to, "stroke=\"#e4e4e4\"");
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x, y_.from + 15, PowerText(e));
    }
    for (int e = static_cast<int>(y_.low); e <= static_cast<int>(y_.high); ++e) {
      const double y = y_.At(std::exp2(e));
      Line(x_.from, y, x_.to, y, "stroke=\"#e4e4e4\"");
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", x_.from - 6, y + 4, PowerText(e));
    }
    Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">intensity, FLOP/byte (valid FLOPs per compulsory "
        "byte)</text>\n",
        (x_.from + x_.to) / 2, y_.from + 32);
    Add("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
        (y_.from + y_.to) / 2);
  }

  // min(peak, bandwidth * intensity), within the frame.
  void Roof(double gflops, double gb_per_s, const char* style) {
    const double x_low = std::exp2(x_.low), x_high = std::exp2(x_.high), y_low = std::exp2(y_.low);
    if (gb_per_s > 0) {
      const double start = std::max(x_low, y_low / gb_per_s), ridge = gflops / gb_per_s;
      if (start < std::min(ridge, x_high)) {
        const double end = std::min(ridge, x_high);
        Line(x_.At(start), y_.At(start * gb_per_s), x_.At(end), y_.At(end * gb_per_s), style);
      }
      if (ridge < x_high) Line(x_.At(std::max(ridge, x_low)), y_.At(gflops), x_.to, y_.At(gflops), style);
    } else {
      Line(x_.from, y_.At(gflops), x_.to, y_.At(gflops), style);
    }
  }

  void DrawSheets() {
    for (const DataSheetRoof& sheet : plot_.sheets) {
      if (sheet.threads != 0 && sheet.threads != view_.threads) continue;
      if (!(sheet.gflops > 0) || std::log2(sheet.gflops) > y_.high || std::log2(sheet.gflops) < y_.low) continue;
      Roof(sheet.gflops, sheet.gb_per_s, "stroke=\"#888\" stroke-dasharray=\"2 4\"");
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#888\">{:.4g} {}</text>\n", x_.from + 4, y_.At(sheet.gflops) - 4,
          sheet.gflops, EscapeXml(sheet.name));
    }
  }

  void DrawRoofs() {
    if (!(view_.peak_gflops > 0)) return;
    for (const RoofLevel& level : view_.levels) {
      Roof(view_.peak_gflops, level.gb_per_s, "stroke=\"#444\" stroke-width=\"1.4\"");
      const double x = x_.At(level.ridge), y = y_.At(view_.peak_gflops);
      Add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"#444\"><title>ridge {}: {:.3g} FLOP/byte</title>"
          "</circle>\n",
          x, y, level.name, level.ridge);
      Add("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#444\" font-size=\"9\" transform=\"rotate(-50 {:.1f} {:.1f})\">{} "
          "{:.3g}</text>\n",
          x + 2, y - 6, x + 2, y - 6, level.name, level.ridge);
    }
    Add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#444\">measured peak {:.1f} GFLOP/s</text>\n",
        x_.to - 4, y_.At(view_.peak_gflops) + 14, view_.peak_gflops);
  }

  void DrawDots() {
    double longest = 0;
    for (const RooflineDot& dot : view_.dots) longest = std::max(longest, dot.time_us);
    for (const RooflineDot& dot : view_.dots) {
      const double radius = std::max(kLeastRadius, kMostRadius * std::sqrt(dot.time_us / longest));
      const char* color = FamilyColor(dot.algorithm);
      Add("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" stroke=\"{}\" fill=\"{}\" "
          "fill-opacity=\"0.55\"><title>{}: {:.2f} us, {:.1f} GFLOP/s, {:.3g} FLOP/byte, {}</title></circle>\n",
          x_.At(dot.intensity), y_.At(dot.gflops), radius, color, dot.hollow ? "none" : color, EscapeXml(dot.label),
          dot.time_us, dot.gflops, dot.intensity, EscapeXml(dot.algorithm));
    }
  }

  void DrawLegend() {
    std::set<std::string> families;
    for (const RooflineDot& dot : view_.dots) families.insert(dot.algorithm);
    double x = kLeft, y = kHeight - 36;
    for (const std::string& family : families) {
      const double width = 26 + 6.2 * static_cast<double>(family.size());
      if (x + width > kWidth - kRight) {
        x = kLeft;
        y += 16;
      }
      const char* color = FamilyColor(family);
      Add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" stroke=\"{}\" fill=\"{}\" fill-opacity=\"0.55\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x + 5, y, color, SavesFlops(family) ? "none" : color, x + 14, y + 4, EscapeXml(family));
      x += width;
    }
  }

  const RooflinePlot& plot_;
  const RooflineView& view_;
  Scale x_, y_;
  std::string text_;
};

}  // namespace

std::string RooflineSvg(const RooflinePlot& plot, const RooflineView& view) { return Drawing(plot, view).Draw(); }

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

const char* FamilyColor(std::string_view algorithm) noexcept {
  const size_t plus = algorithm.find('+');  // "direct+reorder" is direct's
  const std::string_view family = algorithm.substr(0, plus);
  constexpr std::pair<std::string_view, const char*> kColors[] = {
      {"direct", "#1f77b4"},  {"pointwise", "#2ca02c"}, {"depthwise", "#d62728"}, {"splitk", "#ff7f0e"},
      {"grouped", "#9467bd"}, {"widthwise", "#17a2b8"}, {"winograd", "#e377c2"},  {"reference", "#7f7f7f"},
  };
  for (const auto& [name, color] : kColors) {
    if (family.substr(0, name.size()) == name) return color;
  }
  return "#8c564b";
}

}  // namespace rafter::bench
