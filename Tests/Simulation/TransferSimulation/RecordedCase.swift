/// A run of the simulator as text: what it begins with, and each step. It plays the same when the mixes that seeds have change,
/// or the kinds of steps, so it is kept where a seed would become another run.
///
///     # What was acknowledged under a may be gone from the disk.
///     seed=40461
///     names=a b d/a
///     faults=sync death
///     begin(12, 700, 3)
///     publish(1, 0, 44)
///
/// Lines that begin with `#` are comments. A value that is missing is that of `Mix.init()`.
public struct RecordedCase: Equatable, Sendable, CustomStringConvertible {
    /// A text that is no case.
    public struct Malformed: Error, CustomStringConvertible, Sendable {
        /// What cannot be read, and why.
        public let description: String
    }

    /// What it shows, a line each.
    public let comments: [String]

    /// What the world draws its random numbers from.
    public let seed: UInt64

    /// All that happens, but for what others do between the calls of a step, which follows from that step.
    public let steps: [Step]

    let mix: Mix

    init(comments: [String], seed: UInt64, mix: Mix, steps: [Step]) {
        (self.comments, self.seed, self.mix, self.steps) = (comments, seed, mix, steps)
    }

    /// Reads what `description` writes.
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
        // A world takes one of each by a number of a step.
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

    /// Whether both have the same text.
    public static func == (one: RecordedCase, other: RecordedCase) -> Bool { one.description == other.description }
}

extension Step {
    /// Reads what `description` writes: the name of a kind, and three numbers.
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
    /// Without blanks at both ends.
    fileprivate var trimming: Substring {
        var text = drop { $0.isWhitespace }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return text
    }
}
