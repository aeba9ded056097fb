// cli/info_text.cc: the screen of `rafter info`: one fact per line, roofs as a table.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/environment_report.h"
#include "jit/executable_memory.h"
#include "rafter/version.h"
#include "roofline/model.h"
#include "roofline/page_probe.h"
#include "runtime/affinity.h"
#include "runtime/topology.h"

namespace rafter::cli {
namespace {

class InfoWriter {
 public:
  explicit InfoWriter(const LocalRoofs& local)
      : local_(local), environment_(local.machine.environment) {}

  std::string Write(const std::vector<BaselineInfo>& baselines) {
    Line("rafter", Version());
    WriteProcessor();
    WriteCaches();
    WriteLimits();
    WriteSystem();
    WritePages();
    WriteBaselines(baselines);
    WriteRoofs();
    for (const std::string& remark : local_.remarks) Line("remark", remark);
    return std::move(text_);
  }

 private:
  void Line(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{:<18}{}\n", name, value);
  }

  static std::string OrUnknown(const std::string& value) {
    return value.empty() ? "not readable" : value;
  }

  static std::string Bytes(double bytes) {
    if (bytes <= 0) return "unknown";
    constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
    if (bytes >= kGiB) return fmt::format("{:.4g} GiB", bytes / kGiB);
    if (bytes >= kMiB) return fmt::format("{:.4g} MiB", bytes / kMiB);
    return fmt::format("{:.4g} KiB", bytes / kKiB);
  }

  static std::string Capacities(const roofline::LevelCapacities& levels) {
    return fmt::format("L1 {}, L2 {}, L3 {}", Bytes(levels.l1_bytes), Bytes(levels.l2_bytes),
                       Bytes(levels.l3_bytes));
  }

  // "0-3,6"
  static std::string CpuList(const std::vector<int>& cpus) {
    std::string text;
    for (size_t i = 0; i < cpus.size();) {
      size_t end = i + 1;
      while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
      text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
      if (end - i > 1) text += fmt::format("-{}", cpus[end - 1]);
      i = end;
    }
    return text;
  }

  void WriteProcessor() {
    const roofline::CpuIdentity& cpu = environment_.cpu;
    Line("CPU", fmt::format("{} ({}, family {} model {} stepping {}, microcode {})",
                            OrUnknown(cpu.model_name), cpu.vendor, cpu.family, cpu.model,
                            cpu.stepping, OrUnknown(cpu.microcode)));
    Line("hypervisor", cpu.hypervisor.empty() ? "none" : cpu.hypervisor);
    Line("ISA allowed", fmt::format("{} (processor and operating system)", IsaName(DetectedIsa())));
    Line("ISA used", IsaName(EffectiveIsa()));
    if (const std::string warning = MaxIsaWarning(); !warning.empty()) Line("warning", warning);
    Line("executable memory",
         jit::ExecutableMemoryAllowed()
             ? "allowed"
             : "refused: kernels cannot be generated, the reference path runs");
    if (const double ghz = local_.machine.roofs.clock.ghz; ghz > 0) {
      Line("clock", fmt::format("{:.2f} GHz, measured", ghz));
    }
  }

  void WriteCaches() {
    Line("caches reported", Capacities(environment_.caches_reported) + " (of one core)");
    if (environment_.getconf_l3_bytes > 0 &&
        environment_.getconf_l3_bytes != environment_.caches_reported.l3_bytes) {
      Line("", fmt::format("the C library says L3 {}", Bytes(environment_.getconf_l3_bytes)));
    }
    for (const roofline::LevelEnds& ends : local_.machine.roofs.levels) {
      Line("caches measured",
           fmt::format("{} ({}, {} thread{})", Capacities(ends.measured), IsaName(ends.isa),
                       ends.threads, ends.threads == 1 ? "" : "s"));
    }
  }

  void WriteLimits() {
    const roofline::SystemLimits& limits = environment_.limits;
    Line("CPUs allowed", fmt::format("{} ({} CPUs on {} cores), {} threads by default",
                                     CpuList(limits.allowed_cpus), limits.allowed_cpus.size(),
                                     limits.allowed_cores, DefaultThreadCount()));
    Line("container",
         fmt::format("CPU quota {}, memory limit {}",
                     limits.cpu_quota > 0 ? fmt::format("{:.4g} CPUs", limits.cpu_quota) : "none",
                     limits.memory_limit_bytes > 0 ? Bytes(limits.memory_limit_bytes) : "none"));
    if (!PinningWorks()) Line("warning", "the system refuses to pin threads: workers are not bound to cores");
    Line("memory available", Bytes(limits.memory_available_bytes));
  }

  // Measured on the spot: it takes a few milliseconds and depends on the moment.
  void WritePages() {
    const roofline::PageCost cost = roofline::MeasureFirstTouch(size_t{8} << 20);
    if (!(cost.warm_us > 0)) return;
    Line("fresh pages", fmt::format("8 MiB are written in {:.0f} us the first time, in {:.0f} us again ({:.0f} times)",
                                    cost.fresh_us, cost.warm_us, cost.fresh_us / cost.warm_us));
  }

  void WriteSystem() {
    const roofline::SystemSettings& settings = environment_.settings;
    Line("system", fmt::format("{}, clock source {} ({:.0f} ns per reading), huge pages {}, "
                               "governor {}, SMT {}",
                               settings.kernel, OrUnknown(settings.clocksource),
                               settings.timer_cost_ns, OrUnknown(settings.transparent_huge_pages),
                               OrUnknown(settings.governor), OrUnknown(settings.smt)));
    for (const auto& [name, value] : settings.variables) {
      Line("variable", fmt::format("{}={}", name, value));
    }
  }

  void WriteBaselines(const std::vector<BaselineInfo>& baselines) {
    const bool none = std::all_of(baselines.begin(), baselines.end(),
                                  [](const BaselineInfo& baseline) { return baseline.name == "rafter"; });
    if (none) Line("baselines", "none built in");
    for (const BaselineInfo& baseline : baselines) {
      if (baseline.name == "rafter") continue;  // --vs self: its version stands at the top
      Line(baseline.name,
           !baseline.error.empty()
               ? baseline.error
               : baseline.version + (baseline.too_old ? " (too old for claims about speed)" : ""));
    }
  }

  void WriteRoofs() {
    const roofline::Roofs& roofs = local_.machine.roofs;
    if (roofs.peaks.empty()) {
      Line("roofs", "not measured today");
      return;
    }
    const std::string place = local_.doubtful             ? ", implausible: perhaps on a busy machine, not kept"
                              : local_.cache_file.empty() ? ""
                                                          : ", kept in " + local_.cache_file;
    Line("roofs", fmt::format("{}{}{}", local_.measured_now ? "measured now" : "measured today",
                              roofs.quick ? ", roughly" : "", place));
    text_ += "\n  ISA     threads  GFLOP/s: FMA  with a load  with an add\n";
    for (const roofline::FmaPeak& peak : roofs.peaks) {
      fmt::format_to(std::back_inserter(text_), "  {:<7} {:>7}  {:>12.1f}  {:>11.1f}  {:>11.1f}\n",
                     IsaName(peak.isa), peak.threads, peak.gflops, peak.with_load_gflops,
                     peak.with_add_gflops);
    }
    WriteBandwidths();
    for (const roofline::ForkJoinCost& cost : roofs.fork_joins) {
      fmt::format_to(std::back_inserter(text_),
                     "\n  fork-join, {}, {} threads: {:.2f} us (median), {:.2f} us (least)",
                     cost.backend, cost.threads, cost.median_us, cost.min_us);
    }
    if (!roofs.fork_joins.empty()) text_ += '\n';
  }

  void WriteBandwidths() {
    using roofline::Level;
    text_ +=
        "\n  ISA     threads  GB/s of      load     2:1    copy  in-place   store"
        "   ridge (copy), FLOP/byte\n";
    for (const roofline::FmaPeak& peak : local_.machine.roofs.peaks) {
      for (Level level : {Level::kL1, Level::kL2, Level::kL3, Level::kDram}) {
        const auto bandwidth = [&](roofline::Mix mix) {
          return roofline::LevelBandwidth(local_.machine.roofs, peak.isa, peak.threads, level, mix);
        };
        if (bandwidth(roofline::Mix::kLoad) <= 0) continue;
        fmt::format_to(
            std::back_inserter(text_),
            "  {:<7} {:>7}  {:<7} {:>9.1f} {:>7.1f} {:>7.1f} {:>9.1f} {:>7.1f}   {:.1f}\n",
            IsaName(peak.isa), peak.threads, roofline::LevelName(level),
            bandwidth(roofline::Mix::kLoad), bandwidth(roofline::Mix::kTwoToOne),
            bandwidth(roofline::Mix::kCopy), bandwidth(roofline::Mix::kInPlace),
            bandwidth(roofline::Mix::kStore),
            roofline::RidgePoint(local_.machine.roofs, peak.isa, peak.threads, level));
      }
    }
  }

  const LocalRoofs& local_;
  const roofline::Environment& environment_;
  std::string text_;
};

}  // namespace

std::string InfoText(const LocalRoofs& local, const std::vector<BaselineInfo>& baselines) {
  return InfoWriter(local).Write(baselines);
}

}  // namespace rafter::cli
