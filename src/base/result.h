// Result<T>: a value or an Error. Nothing of Capstan throws across a folder's boundary; what may fail returns
// a Result.
//
//   Result<Config> Load(std::string_view path) {
//     CAPSTAN_TRY(std::string text, ReadFile(path));            // returns the Error to the caller
//     CAPSTAN_CHECK_OK(Validate(text), "kubeconfig");           // the same for Result<void>, with context in front
//     return Parse(text);
//   }
//
// In coroutines use CAPSTAN_CO_TRY and CAPSTAN_CO_CHECK_OK.
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace capstan {

template <class T>
using Result = std::expected<T, Error>;

// The failing side of a Result: `return Fail(Code::kInvalid, "spec.port is 0, must be 1 to 65535");`
inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected<Error>(std::in_place, code, std::move(message));
}
inline std::unexpected<Error> Fail(Error error) { return std::unexpected<Error>(std::move(error)); }

}  // namespace capstan

#define CAPSTAN_CONCAT_(a, b) a##b
#define CAPSTAN_CONCAT(a, b) CAPSTAN_CONCAT_(a, b)

#define CAPSTAN_TRY_(keyword, temporary, declaration, ...)                 \
  auto temporary = (__VA_ARGS__);                                          \
  if (!temporary) keyword ::std::unexpected(std::move(temporary).error()); \
  declaration = *std::move(temporary)

#define CAPSTAN_CHECK_OK_(keyword, expression, ...)                                                       \
  do {                                                                                                    \
    if (auto capstan_result = (expression); !capstan_result)                                              \
      keyword ::std::unexpected(std::move(capstan_result).error() __VA_OPT__(.WithContext(__VA_ARGS__))); \
  } while (false)

#define CAPSTAN_TRY(declaration, ...) \
  CAPSTAN_TRY_(return, CAPSTAN_CONCAT(capstan_try_, __COUNTER__), declaration, __VA_ARGS__)
#define CAPSTAN_CO_TRY(declaration, ...) \
  CAPSTAN_TRY_(co_return, CAPSTAN_CONCAT(capstan_try_, __COUNTER__), declaration, __VA_ARGS__)
#define CAPSTAN_CHECK_OK(expression, ...) CAPSTAN_CHECK_OK_(return, expression, __VA_ARGS__)
#define CAPSTAN_CO_CHECK_OK(expression, ...) CAPSTAN_CHECK_OK_(co_return, expression, __VA_ARGS__)
