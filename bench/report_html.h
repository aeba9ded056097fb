// bench/report_html.h: a run as one HTML file that needs nothing else: no network, no other file. The page itself
// is bench/report_page/; Chart.js (MIT) is inlined where the build found it, and without it, without JavaScript and
// in print the roofline is a static drawing.
#ifndef RAFTER_BENCH_REPORT_HTML_H_
#define RAFTER_BENCH_REPORT_HTML_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bench/report_json.h"
#include "bench/roofline_plot.h"

namespace rafter::bench {

struct HtmlOptions {
  std::string title;
  std::vector<DataSheetRoof> sheets = {};  // drawn dotted beside the machine's own
  size_t largest_bytes = 600 * 1000;  // the cases that took least time are left out beyond that
};

std::string WriteHtml(const Report& report, const HtmlOptions& options);

// Whether the page has interactive charts.
bool ChartsBuiltIn() noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_REPORT_HTML_H_
