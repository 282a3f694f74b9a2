import TransferSystem

/// Measures how often something happens in a second.
enum Rate {
    /// Nanoseconds of one round; long enough that its start and its end do not matter.
    private static let round: Int64 = 200_000_000

    /// Number of rounds after the first, which only warms up; odd, for the median.
    private static let rounds = 5

    /// `amount` times the number of calls of `body` in a second, as the median over several rounds.
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

/// Keeps the compiler from removing the computation of the value.
@inline(never)
func keep<T>(_ value: T) {
    withExtendedLifetime(value) {}
}
