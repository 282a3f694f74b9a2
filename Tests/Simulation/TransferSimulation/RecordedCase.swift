/// A run of the simulator as text: its mix and each step. A recorded case plays in the same way after the mixes that
/// seeds have, or the kinds of steps, have changed; the seed alone would then stand for another run.
///
///     # What was acknowledged under a may be gone from the disk.
///     seed=40461
///     names=a b d/a
///     faults=sync death
///     begin(12, 700, 3)
///     publish(1, 0, 44)
///
/// Lines that begin with `#` are comments. A missing value is that of `Mix.init()`.
public struct RecordedCase: Equatable, Sendable, CustomStringConvertible {
    /// A text that is not a recorded case.
    public struct Malformed: Error, CustomStringConvertible, Sendable {
        /// The part that cannot be read, and why.
        public let description: String
    }

    /// Description of the failure, one entry per line.
    public let comments: [String]

    /// Seed of the world's random numbers.
    public let seed: UInt64

    /// All steps, except for those of other connections and programs between the calls of a step, which follow from
    /// that step.
    public let steps: [Step]

    let mix: Mix

    init(comments: [String], seed: UInt64, mix: Mix, steps: [Step]) {
        (self.comments, self.seed, self.mix, self.steps) = (comments, seed, mix, steps)
    }

    /// Reads the text that `description` writes.
    ///
    /// - Throws: `Malformed`, with the line that cannot be read.
    public init(parsing text: String) throws(Malformed) {
        var seed: UInt64?
        var (comments, steps): ([String], [Step]) = ([], [])
        var mix = Mix()
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimming
            if line.hasPrefix("#") {
                comments.append(String(line.dropFirst().trimming))
            } else if let equals = line.firstIndex(of: "=") {
                let (name, value) = (line[..<equals], line[line.index(after: equals)...])
                if name == "seed", let number = UInt64(value) {
                    seed = number
                } else {
                    guard let field = Mix.fields.first(where: { $0.name == name }), field.read(value, &mix) else {
                        throw Malformed(description: "no value of a case: \(line)")
                    }
                }
            } else {
                guard let step = Step(parsing: line) else { throw Malformed(description: "no step: \(line)") }
                steps.append(step)
            }
        }
        guard let seed else { throw Malformed(description: "a case needs a line seed=NUMBER") }
        // A world chooses a name, a policy and a size by the number of a step, and divides by the rates, so no list may
        // be empty and no rate zero.
        guard !mix.names.isEmpty, !mix.conflicts.isEmpty, !mix.sizes.isEmpty, mix.sessions > 0, mix.interludeRate > 0,
            mix.faultRates.durable > 0, mix.faultRates.other > 0, mix.faultWait > 0
        else { throw Malformed(description: "a case needs a name, a policy, a size, and rates above zero") }
        self.init(comments: comments, seed: seed, mix: mix, steps: steps)
    }

    /// The whole text, with a line feed at the end of each line.
    public var description: String {
        var lines = comments.map { "# \($0)" }
        lines.append("seed=\(seed)")
        lines += Mix.fields.map { "\($0.name)=\($0.text(mix))" }
        lines += steps.map(\.description)
        return lines.map { $0 + "\n" }.joined()
    }

    /// Whether both cases have the same text.
    public static func == (one: RecordedCase, other: RecordedCase) -> Bool { one.description == other.description }
}

extension Step {
    /// Reads the text that `description` writes: the name of a kind, and three numbers.
    init?(parsing text: Substring) {
        guard let open = text.firstIndex(of: "("), text.last == ")", let kind = Kind(caseText: text[..<open]) else {
            return nil
        }
        let inside = text[text.index(after: open)...].dropLast()
        let numbers = inside.split(separator: ",", omittingEmptySubsequences: false).map { UInt32($0.trimming) }
        guard numbers.count == 3, let a = numbers[0], let b = numbers[1], let c = numbers[2] else { return nil }
        self.init(kind: kind, a: a, b: b, c: c)
    }
}

extension Substring {
    /// The text without blanks at both ends.
    fileprivate var trimming: Substring {
        var text = drop { $0.isWhitespace }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return text
    }
}
