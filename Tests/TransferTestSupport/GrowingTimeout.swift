/// A time-out was over before a test had come to the point from which on it was to pass.
package struct PassedTooEarly: Error, CustomStringConvertible {
    package let cause: any Error

    package init(_ cause: any Error) { self.cause = cause }

    package var description: String { "a time-out passed too early: \(cause)" }
}

/// Runs a test in which a time-out has to pass, but only behind some steps that take as long as the machine takes for them.
/// Where it passes earlier the test runs again with a longer one, so that it is quick on a quiet machine and right on any.
///
/// - Parameters:
///   - first: milliseconds of the first one.
///   - body: is given milliseconds, and marks the steps by `early`.
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

/// The steps before a time-out: whatever they throw means that it passed too early.
package func early<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch { throw PassedTooEarly(error) }
}

/// A condition on what came before a time-out.
package func early(_ isSo: Bool, _ what: String = #function, line: Int = #line) throws {
    struct Otherwise: Error, CustomStringConvertible { let description: String }
    if !isSo { throw PassedTooEarly(Otherwise(description: "line \(line) of \(what)")) }
}
