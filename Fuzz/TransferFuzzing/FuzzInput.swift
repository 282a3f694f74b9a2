/// Takes an input apart from the front. Missing bytes read as zero.
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

    /// The next bytes up to the separator, which is consumed as well.
    mutating func upTo(_ separator: UInt8) -> [UInt8] {
        let part = bytes.prefix { $0 != separator }
        bytes = bytes[part.endIndex...].dropFirst()
        return Array(part)
    }

    /// Reads the rest as texts with a NUL after each, with UTF-8 repaired as the runtime does for arguments.
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
