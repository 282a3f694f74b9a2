/// The reason why nothing was measured, or an exceeded threshold.
struct BenchmarkFailure: Error, CustomStringConvertible {
    /// A sentence that tells the user what to do.
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
