import TransferTestSupport

/// One event in a run. Its numbers and the state of the world determine the details, so that the other steps keep a
/// meaning when some are left out.
public struct Step: Equatable, Sendable, CustomStringConvertible {
    /// Kind of the event.
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
        /// A stopped server of a cluster goes on, its standby database becomes the database, or it sweeps the bucket.
        case proceed, failOver, sweep
    }

    let kind: Kind
    let a: UInt32
    let b: UInt32
    let c: UInt32

    /// The step as a recorded case contains it.
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

    /// Kinds of steps that can occur in the middle of another step. During a step, other connections may do everything
    /// that needs no lock which the step holds.
    private static let between: [Kind] = [
        .begin, .append, .append, .end, .end, .publish, .publish, .publish, .acknowledge, .batch, .batch, .batch,
        .batch,
        .askAgain, .part, .part, .part, .finishParts, .survey, .allParts, .grow, .vanish, .haunt, .haunt, .lookup,
        .change,
    ]

    /// Kinds of steps that can occur in the middle of another step, for an upload in parts.
    private static let betweenParts: [Kind] = [.part, .part, .part, .part, .end, .finishParts, .survey, .vanish]

    /// Steps of other connections between the calls of this step. They follow from the numbers of this step alone.
    ///
    /// - Parameter parts: whether this step is about an upload in parts.
    func stepsBetween(parts: Bool) -> [Step] {
        var random = SplitMix64(seed: UInt64(c) << 32 | UInt64(b))
        let kinds = parts && random.next() % 2 == 0 ? Self.betweenParts : Self.between
        return (0..<1 + Int(random.next() % 4)).map { _ in Self.step(of: kinds, &random) }
    }
}
