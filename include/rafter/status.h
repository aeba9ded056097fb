// rafter/status.h: how an operation ended (Status), or its value (Result<T>).
//
// The library never throws, prints or aborts. Everything that can fail returns one of these two types;
// the message names the field, its value and what is allowed.
#ifndef RAFTER_STATUS_H_
#define RAFTER_STATUS_H_

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rafter {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 1,  // the request contradicts itself or the documented ranges
  kUnsupported = 2,      // a valid request for something that rafter does not do
  kOutOfMemory = 3,
  kInternal = 4,  // a defect of rafter or of the operating system's answer
};

// The outcome of an operation. Copying is cheap and does not throw.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  // `message` must outlive the Status (a string literal): this constructor does not allocate.
  Status(StatusCode code, const char* message) noexcept : code_(code), literal_(message) {}
  // Falls back to a message-less status of the same code when no memory is left.
  Status(StatusCode code, std::string message) noexcept : code_(code) {
    try {
      owned_ = std::make_shared<const std::string>(std::move(message));
    } catch (const std::bad_alloc&) {
      literal_ = "out of memory while describing an error";
    }
  }

  bool ok() const noexcept { return code_ == StatusCode::kOk; }
  StatusCode code() const noexcept { return code_; }
  std::string_view message() const noexcept {
    return owned_ ? std::string_view(*owned_) : std::string_view(literal_);
  }

  static Status InvalidArgument(std::string message) {
    return Status(StatusCode::kInvalidArgument, std::move(message));
  }
  static Status Unsupported(std::string message) {
    return Status(StatusCode::kUnsupported, std::move(message));
  }
  static Status OutOfMemory() noexcept { return Status(StatusCode::kOutOfMemory, "out of memory"); }
  static Status Internal(std::string message) {
    return Status(StatusCode::kInternal, std::move(message));
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  const char* literal_ = "";
  std::shared_ptr<const std::string> owned_;
};

// "kInvalidArgument" and so on, for logs.
inline const char* StatusCodeName(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kOk: return "kOk";
    case StatusCode::kInvalidArgument: return "kInvalidArgument";
    case StatusCode::kUnsupported: return "kUnsupported";
    case StatusCode::kOutOfMemory: return "kOutOfMemory";
    case StatusCode::kInternal: return "kInternal";
  }
  return "unknown";
}

// A value, or the reason why there is none. Reading the value of a failed Result is a programming error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T result) : value_(std::move(result)) {}                 // NOLINT: implicit on purpose
  Result(Status failure) noexcept : status_(std::move(failure)) {}  // NOLINT: implicit on purpose

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace rafter

#endif  // RAFTER_STATUS_H_
