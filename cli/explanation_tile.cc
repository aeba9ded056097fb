// cli/explanation_tile.cc: the register tile, drawn from what the kernel's name tells.
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string>

#include "cli/explanation.h"

namespace rafter::cli {
namespace {

constexpr int kMostRows = 6, kMostColumns = 14;

struct Shape {
  int across = 0, down = 0;
  const char *across_name = "pixels", *down_name = "vectors of channels";
  bool fills_lanes = false;  // whatever the number of channels
};

// tile_f32_avx2_px6_oc2v, strip_f32_avx2_px6_broadcast12_oc16, width_f32_avx2_3v_oc4_rows1, dw_w_f32_avx2_k3x3s1x1_3v,
// dw_f32_avx2_k3s1_3x4; zeros: the name does not tell.
Shape ShapeOf(const std::string& kernel, int lanes) {
  std::smatch match;
  Shape shape;
  const auto number = [&](size_t group) { return std::stoi(match[group].str()); };
  const auto matches = [&](const char* pattern) { return std::regex_search(kernel, match, std::regex(pattern)); };
  if (matches("_px(\\d{1,3})_oc(\\d{1,3})v")) {
    shape = {number(1), number(2)};
  } else if (matches("_px(\\d{1,3})_.*oc(\\d{1,4})")) {
    shape = {number(1), std::max(1, (number(2) + lanes - 1) / lanes), "pixels", "vectors of channels", true};
  } else if (matches("^width_.*_(\\d{1,3})v_oc(\\d{1,3})")) {
    shape = {number(1), number(2), "vectors of pixels", "output channels", true};
  } else if (matches("^dw_w_.*_(\\d{1,3})v")) {
    shape = {number(1), 1, "vectors of pixels", "output channel", true};
  } else if (matches("^dw_f32_.*_(\\d{1,3})x(\\d{1,3})")) {
    shape = {number(2), number(1), "pixels", "output rows, one vector of channels each,"};
  }
  const bool sane = shape.across >= 1 && shape.down >= 1 && shape.across <= 64 && shape.down <= 64;
  return sane ? shape : Shape();
}

std::string Cell(int lanes, int64_t used) {
  std::string cell = "[";
  for (int lane = 0; lane < lanes; ++lane) cell += lane < used ? '#' : '.';
  return cell + "]";
}

}  // namespace

std::string DrawTile(const std::string& kernel, const ConvDesc& desc, int lanes) {
  if (lanes < 1) return {};
  const Shape shape = ShapeOf(kernel, lanes);
  if (shape.across == 0) return {};
  const bool depthwise = desc.groups == desc.ic && desc.groups > 1;
  const int64_t channels = depthwise ? desc.oc : desc.oc / desc.groups;
  const int columns = std::min(shape.across, kMostColumns);
  const auto row = [&](int64_t used) {
    std::string cells = "    ";
    for (int column = 0; column < columns; ++column) cells += Cell(lanes, used);
    return cells + (columns < shape.across ? " ..." : "");
  };
  std::string text = fmt::format("  {} {} x {} {} of {} lanes = {} sums in registers\n", shape.across,
                                 shape.across_name, shape.down, shape.down_name, lanes, shape.across * shape.down);
  for (int i = 0; i < std::min(shape.down, kMostRows); ++i) text += row(lanes) + "\n";
  const int64_t rest = shape.fills_lanes ? 0 : channels % lanes;
  if (rest != 0) {
    text += row(rest) +
            fmt::format("  the last vector of {} channels: {} of {} lanes idle\n", channels, lanes - rest, lanes);
  }
  return text;
}

}  // namespace rafter::cli
