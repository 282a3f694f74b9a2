import TransferTestSupport

/// One thing that happens. What exactly follows from its numbers and the state of the world, so that steps can be left out
/// and the others still mean something.
public struct Step: Equatable, Sendable, CustomStringConvertible {
    /// What happens.
    public enum Kind: UInt32, CaseIterable, Sendable {
        case begin, append, end, publish, acknowledge
        case batch, resend, overtake, askAgain
        case part, finishParts, survey, allParts, breakOff, takeBack
        case grow
        case vanish, fade, haunt, abort, lookup
        case change, scrub, wait, expire
        case kill, rest, powerCut, failDisk, failRecords, mend
        case mail, mailAgain, settle, expireMail, introduce, failLedger
        case rearrange, discard, restore, remove, copy
        case migrate
        case restrict
    }

    let kind: Kind
    let a: UInt32
    let b: UInt32
    let c: UInt32

    /// As a failure shows it.
    public var description: String { "\(kind)(\(a), \(b), \(c))" }

    static func steps(of mix: Mix, _ random: inout SplitMix64) -> [Step] {
        let kinds = mix.weights.flatMap { Array(repeating: $0.kind, count: $0.weight) }
        return (0..<mix.length).map { _ in step(of: kinds, &random) }
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
        .begin, .append, .append, .end, .end, .publish, .publish, .publish, .acknowledge, .batch, .batch, .batch,
        .batch,
        .askAgain, .part, .part, .part, .finishParts, .survey, .allParts, .grow, .vanish, .haunt, .haunt, .lookup,
        .change,
    ]

    /// The same, about an upload in parts.
    private static let betweenParts: [Kind] = [.part, .part, .part, .part, .end, .finishParts, .survey, .vanish]

    /// Steps of others that come between the calls of this one; the same whenever it is asked.
    ///
    /// - Parameter parts: whether they are about an upload in parts.
    func stepsBetween(parts: Bool) -> [Step] {
        var random = SplitMix64(seed: UInt64(c) << 32 | UInt64(b))
        let kinds = parts && random.next() % 2 == 0 ? Self.betweenParts : Self.between
        return (0..<1 + Int(random.next() % 4)).map { _ in Self.step(of: kinds, &random) }
    }
}
