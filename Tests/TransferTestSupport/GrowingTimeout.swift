/// A time-out passed before the test had reached the step in which it was to pass.
package struct PassedTooEarly: Error, CustomStringConvertible {
    package let cause: any Error

    package init(_ cause: any Error) { self.cause = cause }

    package var description: String { "a time-out passed too early: \(cause)" }
}

/// Runs a test in which a time-out has to pass, but only after some steps whose duration depends on the machine. If the
/// time-out passes earlier, the test runs again with a longer one, so that it is quick on an idle machine and correct
/// on any.
///
/// - Parameters:
///   - first: the first time-out, in milliseconds.
///   - body: the test, which gets the time-out in milliseconds, and marks the steps before it with `early`.
/// - Throws: what the test throws; `PassedTooEarly` if half a minute was not long enough.
package func growingTimeout(
    from first: Int64 = 50, _ body: (_ milliseconds: Int64) async throws -> Void
) async throws {
    var milliseconds = first
    while true {
        do {
            return try await body(milliseconds)
        } catch let error as PassedTooEarly {
            guard milliseconds < longestTimeout else { throw error }
            milliseconds = min(longestTimeout, 8 * milliseconds)
        }
    }
}

private let longestTimeout: Int64 = 30_000

/// Runs steps before a time-out. Any error that they throw means that the time-out passed too early.
package func early<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch { throw PassedTooEarly(error) }
}

/// Checks a condition that has to be true before a time-out passes.
package func early(_ isSo: Bool, _ what: String = #function, line: Int = #line) throws {
    struct Otherwise: Error, CustomStringConvertible { let description: String }
    if !isSo { throw PassedTooEarly(Otherwise(description: "line \(line) of \(what)")) }
}
