// bench/roofline_svg.h: a roofline diagram as one SVG image: for print, for documents, and for readers of a
// report without JavaScript. The same plot as the page's interactive one.
#ifndef RAFTER_BENCH_ROOFLINE_SVG_H_
#define RAFTER_BENCH_ROOFLINE_SVG_H_

#include <string>
#include <string_view>

#include "bench/roofline_plot.h"

namespace rafter::bench {

// A stand-alone document of one view: both axes logarithmic with ticks at powers of two, the roofs of every
// level with their ridge points, data-sheet roofs dotted, dots by kernel family (area by share of the time,
// hollow where FLOPs are saved) with a title each, which browsers show when hovered over.
std::string RooflineSvg(const RooflinePlot& plot, const RooflineView& view);

// Text for XML and HTML, in content and in attributes.
std::string EscapeXml(std::string_view text);

// The colour of a kernel family, the same in every drawing: "#rrggbb".
const char* FamilyColor(std::string_view algorithm) noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_ROOFLINE_SVG_H_
