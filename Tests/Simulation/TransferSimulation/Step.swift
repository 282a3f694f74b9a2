import TransferTestSupport

/// One thing that happens. What exactly follows from its numbers and the state of the world, so that steps can be left out
/// and the others still mean something.
public struct Step: Equatable, Sendable, CustomStringConvertible {
    public enum Kind: UInt32, CaseIterable, Sendable {
        case begin, append, end, publish, acknowledge
        case askAgain, part, finishParts, survey
        case vanish, abort, lookup
        case change, wait, expire
        case kill, powerCut, failDisk, failRecords, mend
    }

    let kind: Kind
    let a: UInt32
    let b: UInt32
    let c: UInt32

    public var description: String { "\(kind)(\(a), \(b), \(c))" }

    /// How often each kind comes.
    private static func weight(of kind: Kind, parts: Bool) -> Int {
        switch kind {
        case .begin: 14
        case .append: 16
        case .end: 14
        case .publish: 12
        case .acknowledge: 10
        case .askAgain: 8
        case .part: parts ? 12 : 1
        case .finishParts: parts ? 5 : 1
        case .survey: parts ? 3 : 1
        case .vanish: 4
        case .abort: 1
        case .lookup: 3
        case .change: 2
        case .wait: 1
        case .expire: 1
        case .kill: 2
        case .powerCut: 2
        case .failDisk: 4
        case .failRecords: 2
        case .mend: 4
        }
    }

    /// - Parameter parts: whether blocks are small enough for many uploads in parts.
    static func steps(_ count: Int, _ random: inout SplitMix64, parts: Bool) -> [Step] {
        let kinds = Kind.allCases.flatMap { Array(repeating: $0, count: weight(of: $0, parts: parts)) }
        return (0..<count).map { _ in
            let words = (random.next(), random.next())
            return Step(
                kind: kinds[Int(words.0 % UInt64(kinds.count))], a: UInt32(truncatingIfNeeded: words.0 >> 32),
                b: UInt32(truncatingIfNeeded: words.1), c: UInt32(truncatingIfNeeded: words.1 >> 32))
        }
    }
}
