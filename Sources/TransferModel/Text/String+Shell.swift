extension String {
    /// As a word of a command line for POSIX shells, with quotes only where it needs them.
    package var shellWord: String {
        guard isEmpty || !utf8.allSatisfy(Self.isPlain) else { return self }
        // By bytes: to a shell a quote is one whatever sign follows.
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
