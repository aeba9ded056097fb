// bench/report_texts.h: the files of bench/report_page and Chart.js, embedded by cmake/EmbedReport.cmake.
#ifndef RAFTER_BENCH_REPORT_TEXTS_H_
#define RAFTER_BENCH_REPORT_TEXTS_H_

#include <string_view>

namespace rafter::bench {

std::string_view ReportPage() noexcept;    // page.html
std::string_view ReportStyle() noexcept;   // page.css
std::string_view ReportScript() noexcept;  // page.js
std::string_view ChartScript() noexcept;   // Chart.js, minified; empty when the build had none

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_REPORT_TEXTS_H_
