extension String {
    /// The text as a word for POSIX shells, quoted only if necessary.
    package var shellWord: String {
        guard isEmpty || !utf8.allSatisfy(Self.isPlain) else { return self }
        // The text is split by bytes, because a shell sees a quote even if a combining mark follows it.
        let parts = utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-_./:@%+=,".utf8.contains(byte)
        }
    }
}
