/// Why nothing was measured, or that a threshold was exceeded.
struct BenchmarkFailure: Error, CustomStringConvertible {
    /// A sentence that says what to do.
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
