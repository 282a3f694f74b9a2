import TransferSystem

/// Measures how much of something is done in a second.
enum Rate {
    /// Nanoseconds of one round; long enough that starting and ending it do not show.
    private static let round: Int64 = 200_000_000

    /// Rounds after the first, which warms up and does not count; odd, for the median.
    private static let rounds = 5

    /// The median over a few rounds of `amount` times the calls of `body` in a second.
    static func perSecond(_ amount: Double, _ body: () throws -> Void) rethrows -> Double {
        var rates: [Double] = []
        for _ in 0...rounds {
            let start = monotonicNanoseconds()
            var (calls, elapsed): (Double, Int64) = (0, 0)
            while elapsed < round {
                try body()
                calls += 1
                elapsed = monotonicNanoseconds() - start
            }
            rates.append(amount * calls / (Double(elapsed) / 1e9))
        }
        return rates.dropFirst().sorted()[rounds / 2]
    }
}

/// Makes the compiler believe that the value is needed.
@inline(never)
func keep<T>(_ value: T) {
    withExtendedLifetime(value) {}
}
