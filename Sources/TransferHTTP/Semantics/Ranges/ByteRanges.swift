/// The ranges of `Range: bytes=…` (RFC 9110, section 14.1.2).
package struct ByteRanges: Equatable, Sendable {
    /// Most ranges in a request. A field with more ranges is ignored, as section 14.2 permits. Readers of archives and
    /// videos request one to three ranges.
    package static let mostRanges = 16

    /// Most times that any byte is sent. This also limits how much content an answer has in relation to the file.
    package static let mostCopies = 2

    enum Spec: Equatable {
        /// First and last byte, inclusive.
        case closed(UInt64, UInt64)
        /// From this byte to the end.
        case from(UInt64)
        /// The last bytes, this many of them.
        case last(UInt64)
    }

    /// The server's answer to the ranges.
    package enum Answer: Equatable, Sendable {
        /// 200 with the whole content.
        case whole
        /// 206 with ranges in the requested order; none is empty.
        case ranges([Range<UInt64>])
        /// 416, with `Content-Range: bytes */size`.
        case unsatisfiable
    }

    private let specs: [Spec]

    /// - Returns: nil if the field must be ignored: it is missing, occurs twice, has another unit, is malformed, or has
    ///   more than `mostRanges`.
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

    /// - Parameter size: size of the content in bytes.
    package func answer(size: UInt64) -> Answer {
        if size == 0 {
            // If the content is empty, its last bytes are all of it (section 14.1.2).
            return specs.contains { if case .last(1...) = $0 { true } else { false } } ? .whole : .unsatisfiable
        }
        let ranges = specs.compactMap { $0.range(size: size) }
        guard !ranges.isEmpty else { return .unsatisfiable }
        return Self.isFair(ranges) ? .ranges(ranges) : .whole
    }

    /// Whether no byte is sent more than twice, so that all ranges together are at most twice the content.
    private static func isFair(_ ranges: [Range<UInt64>]) -> Bool {
        // The largest number of overlapping ranges occurs at the beginning of a range.
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

    /// A number that overflows becomes the largest one, which is beyond any content.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64 {
        FieldSyntax.number(digits).map { UInt64($0) } ?? .max
    }

    /// - Parameter size: 1 or more.
    /// - Returns: nil if it contains no byte of the content.
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
    /// The value for a range of the content.
    ///
    /// - Parameter range: not empty, and inside the size.
    package static func text(_ range: Range<UInt64>, size: UInt64) -> String {
        // Trap: ranges come from `ByteRanges.answer`, which returns no empty ones.
        precondition(!range.isEmpty && range.upperBound <= size, "a range outside its content")
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }

    /// The value in a 416, with the size of the content.
    package static func unsatisfied(size: UInt64) -> String { "bytes */\(size)" }
}
