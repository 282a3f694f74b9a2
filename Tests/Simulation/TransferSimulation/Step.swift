import TransferTestSupport

/// One thing that happens. What exactly follows from its numbers and the state of the world, so that steps can be left out
/// and the others still mean something.
public struct Step: Equatable, Sendable, CustomStringConvertible {
    /// What happens.
    public enum Kind: UInt32, CaseIterable, Sendable {
        case begin, append, end, publish, acknowledge
        case batch, askAgain
        case part, finishParts, survey, allParts
        case vanish, fade, haunt, abort, lookup
        case change, wait, expire
        case kill, rest, powerCut, failDisk, failRecords, mend
    }

    let kind: Kind
    let a: UInt32
    let b: UInt32
    let c: UInt32

    /// As a failure shows it.
    public var description: String { "\(kind)(\(a), \(b), \(c))" }

    /// How often each kind comes.
    private static func weight(of kind: Kind, parts: Bool) -> Int {
        switch kind {
        case .begin: 14
        case .append: 16
        case .end: 14
        case .publish: 12
        case .acknowledge: 10
        case .batch: 4
        case .askAgain: 10
        case .part: parts ? 12 : 1
        case .finishParts: parts ? 5 : 1
        case .survey: parts ? 4 : 1
        case .allParts: parts ? 6 : 1
        case .vanish: 3
        case .fade: 3
        case .haunt: 7
        case .abort: 1
        case .lookup: 4
        case .change: 3
        case .wait: 1
        case .expire: 1
        case .kill: 2
        case .rest: 1
        case .powerCut: 2
        case .failDisk: 2
        case .failRecords: 2
        case .mend: 4
        }
    }

    /// - Parameter parts: whether blocks are small enough for many uploads in parts.
    static func steps(_ count: Int, _ random: inout SplitMix64, parts: Bool) -> [Step] {
        let kinds = Kind.allCases.flatMap { Array(repeating: $0, count: weight(of: $0, parts: parts)) }
        return (0..<count).map { _ in step(of: kinds, &random) }
    }

    private static func step(of kinds: [Kind], _ random: inout SplitMix64) -> Step {
        let words = (random.next(), random.next())
        return Step(
            kind: kinds[Int(words.0 % UInt64(kinds.count))], a: UInt32(truncatingIfNeeded: words.0 >> 32),
            b: UInt32(truncatingIfNeeded: words.1), c: UInt32(truncatingIfNeeded: words.1 >> 32))
    }

    /// What can happen in the middle of another step, on the way of which others may do all that takes no lock which the
    /// other one holds.
    private static let between: [Kind] = [
        .begin, .append, .append, .end, .end, .publish, .publish, .publish, .acknowledge, .batch, .askAgain, .part,
        .part,
        .finishParts, .survey, .allParts, .vanish, .haunt, .haunt, .lookup, .change,
    ]

    /// Steps of others that come between the calls of this one; the same whenever it is asked.
    var stepsBetween: [Step] {
        var random = SplitMix64(seed: UInt64(c) << 32 | UInt64(b))
        return (0..<1 + Int(random.next() % 3)).map { _ in Self.step(of: Self.between, &random) }
    }
}
