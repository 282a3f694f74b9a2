/// Takes an input apart from the front. What it no longer has reads as zero.
struct FuzzInput {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
    }

    var isEmpty: Bool { bytes.isEmpty }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
        (0..<MemoryLayout<T>.size).reduce(0) { value, _ in value << 8 | T(truncatingIfNeeded: byte()) }
    }

    /// The next bytes up to one of that value, which is taken too.
    mutating func upTo(_ separator: UInt8) -> [UInt8] {
        let part = bytes.prefix { $0 != separator }
        bytes = bytes[part.endIndex...].dropFirst()
        return Array(part)
    }

    /// Takes what is left as texts with a NUL after each, as the runtime does it with arguments that are not UTF-8.
    mutating func texts() -> [String] {
        var texts: [String] = []
        while !isEmpty { texts.append(String(decoding: upTo(0), as: UTF8.self)) }
        return texts
    }

    mutating func rest() -> [UInt8] {
        defer { bytes = [] }
        return Array(bytes)
    }
}
