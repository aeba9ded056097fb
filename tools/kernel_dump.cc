// tools/kernel_dump.cc: from a problem to the disassembly of its kernels, for reading what was
// generated.
//
//   rafter_kernel_dump DESCRIPTOR [LAYOUT]      LAYOUT: NHWC (default), NCHW, NCHW16c, NCHW8c
//
// Creates the plan with RAFTER_JIT_DUMP set to a fresh directory and lets objdump print each file.
// RAFTER_MAX_ISA caps the instruction set as usual.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "bench/descriptor.h"
#include "rafter/rafter.h"

namespace {

namespace fs = std::filesystem;

int Disassemble(const fs::path& file) {
  std::printf("\n== %s ==\n", file.stem().c_str());
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execlp("objdump", "objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel",
           "--no-show-raw-insn", file.c_str(), nullptr);
    _exit(127);
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) < 0) return 1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

bool ReadLayout(std::string_view name, rafter::Layout& layout) {
  using rafter::Layout;
  for (const Layout known : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    if (name == rafter::LayoutName(known)) {
      layout = known;
      return true;
    }
  }
  return false;
}

int Fail(const char* what, std::string_view why) {
  std::fprintf(stderr, "rafter_kernel_dump: %s: %.*s\n", what, static_cast<int>(why.size()),
               why.data());
  return 1;
}

int Dump(rafter::ConvDesc desc, const fs::path& directory) {
  const auto conv = rafter::Conv::Create(desc);
  if (!conv.ok()) return Fail("no plan", conv.status().message());
  std::printf("%s", conv.value().Explain().c_str());
  int result = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".bin") result |= Disassemble(entry.path());
  }
  return result == 0 ? 0 : Fail("objdump", "failed; is binutils installed?");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    return Fail("usage", "rafter_kernel_dump DESCRIPTOR [NHWC|NCHW|NCHW16c|NCHW8c]"), 2;
  }
  auto descriptor = rafter::bench::ParseDescriptor(argv[1]);
  if (!descriptor.ok()) return Fail(argv[1], descriptor.status().message()), 2;
  rafter::Layout layout = rafter::Layout::kNhwc;
  if (argc == 3 && !ReadLayout(argv[2], layout)) return Fail(argv[2], "unknown layout"), 2;
  descriptor->desc.src.layout = descriptor->desc.dst.layout = layout;

  std::string directory = (fs::temp_directory_path() / "rafter_kernel_dump_XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return Fail(directory.c_str(), "cannot be created");
  setenv("RAFTER_JIT_DUMP", directory.c_str(), 1);
  const int result = Dump(descriptor->desc, directory);
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  return result;
}
