/// The ranges of `Range: bytes=…` (RFC 9110, section 14.1.2).
package struct ByteRanges: Equatable, Sendable {
    /// Ranges that are answered; more are ignored, as section 14.2 allows. Readers of archives and of films ask for one
    /// to three.
    package static let mostRanges = 16

    /// What is sent is at most so many times the content, and no byte of it more often than that.
    package static let mostCopies = 2

    enum Spec: Equatable {
        /// The first and the last byte.
        case closed(UInt64, UInt64)
        /// From a byte on.
        case from(UInt64)
        /// So many bytes at the end.
        case last(UInt64)
    }

    /// What a server answers.
    package enum Answer: Equatable, Sendable {
        /// 200, all of it.
        case whole
        /// 206, in the order in which they were asked for; none is empty.
        case ranges([Range<UInt64>])
        /// 416, with `Content-Range: bytes */size`.
        case unsatisfiable
    }

    private let specs: [Spec]

    /// - Returns: nothing when the field is to be ignored: it is missing or there twice, in another unit, malformed, or
    ///   has more than `mostRanges`.
    package init?(_ fields: HTTPFields) {
        let lines = fields.values("range")
        guard lines.count == 1 else { return nil }
        self.init(field: lines[0])
    }

    package init?(field value: some Sequence<UInt8>) {
        var reader = FieldReader(value)
        guard let unit = reader.token(), HTTPCharacter.areSame(unit, "bytes"), reader.take("=") else { return nil }
        var specs: [Spec] = []
        while true {
            _ = reader.take { HTTPCharacter.isBlank($0) || $0 == UInt8(ascii: ",") }
            guard !reader.isAtEnd else { break }
            guard specs.count < Self.mostRanges, let spec = Spec(from: &reader) else { return nil }
            specs.append(spec)
            reader.skipBlanks()
            guard reader.isAtEnd || reader.rest.first == UInt8(ascii: ",") else { return nil }
        }
        guard !specs.isEmpty else { return nil }
        self.specs = specs
    }

    /// - Parameter size: bytes of the content.
    package func answer(size: UInt64) -> Answer {
        if size == 0 {
            // The end of nothing is all of it (section 14.1.2).
            return specs.contains { if case .last(1...) = $0 { true } else { false } } ? .whole : .unsatisfiable
        }
        let ranges = specs.compactMap { $0.range(size: size) }
        guard !ranges.isEmpty else { return .unsatisfiable }
        return Self.isFair(ranges) ? .ranges(ranges) : .whole
    }

    /// Whether no byte is sent more than twice. Then the sum is no more than twice the content either.
    private static func isFair(_ ranges: [Range<UInt64>]) -> Bool {
        // The most copies there are of any byte are there where a range begins.
        ranges.allSatisfy { range in ranges.count { $0.contains(range.lowerBound) } <= mostCopies }
    }
}

extension ByteRanges.Spec {
    init?(from reader: inout FieldReader) {
        let first = reader.take(while: HTTPCharacter.isDigit)
        guard reader.take("-") else { return nil }
        let last = reader.take(while: HTTPCharacter.isDigit)
        switch (first.isEmpty, last.isEmpty) {
        case (true, true): return nil
        case (true, false): self = .last(Self.number(last))
        case (false, true): self = .from(Self.number(first))
        case (false, false):
            self = .closed(Self.number(first), Self.number(last))
            guard Self.number(first) <= Self.number(last) else { return nil }
        }
    }

    /// A number that is larger than any content is as good as the largest.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64 {
        FieldSyntax.number(digits).map { UInt64($0) } ?? .max
    }

    /// - Parameter size: 1 or more.
    /// - Returns: nothing when no byte of the content is in there.
    func range(size: UInt64) -> Range<UInt64>? {
        switch self {
        case .closed(let first, let last): first < size ? first..<min(last, size - 1) + 1 : nil
        case .from(let first): first < size ? first..<size : nil
        case .last(let count): count > 0 ? size - min(count, size)..<size : nil
        }
    }
}

/// `Content-Range` (RFC 9110, section 14.4).
package enum ContentRange {
    /// Of a part.
    ///
    /// - Parameter range: not empty, and within the size.
    package static func text(_ range: Range<UInt64>, size: UInt64) -> String {
        // Trap: ranges come from `ByteRanges.answer`, which gives no empty ones.
        precondition(!range.isEmpty && range.upperBound <= size, "a range outside its content")
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }

    /// Of a 416: what there would be.
    package static func unsatisfied(size: UInt64) -> String { "bytes */\(size)" }
}
