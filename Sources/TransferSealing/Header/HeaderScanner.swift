internal import TransferKeys

/// Reads a header wherever its bytes are cut. It consumes exactly the header and examines each byte once.
///
/// ```
/// version ──► between ──"-> …"──► body ──full line──► body
///                ▲ │                │
///                │ └──"--- …"──► (header)
///                └─────shorter line─┘
/// ```
package struct HeaderScanner: ~Copyable {
    private enum State {
        case version
        case between
        case body(HeaderStanza)
    }

    private var state = State.version
    private var bytes: [UInt8] = []
    private var lineStart = 0
    private var stanzas: [HeaderStanza] = []

    package init() {}

    /// Reads bytes from `consumed` on, and advances it.
    ///
    /// - Returns: the header; nil if more bytes are needed, and then all of `input` is consumed.
    /// - Throws: `notSealed`, `unsupported`, `malformed`, `tooLarge`. The scanner must not be used afterwards.
    package mutating func scan(
        _ input: RawSpan, consumed: inout Int
    ) throws(SealingError) -> SealedHeader? {
        try input.withUnsafeBytes { (input) throws(SealingError) in try scan(bytes: input, &consumed) }
    }

    private mutating func scan(
        bytes input: UnsafeRawBufferPointer, _ consumed: inout Int
    ) throws(SealingError) -> SealedHeader? {
        while consumed < input.count {
            let rest = input[consumed...]
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let line = end.map { rest[...$0] } ?? rest
            let piece = line.prefix(SealedHeader.longest - bytes.count)
            bytes += piece
            consumed += piece.count
            if case .version = state { try checkVersion() }
            guard piece.count == line.count else {
                throw .tooLarge("The header is longer than \(SealedHeader.longest) bytes.")
            }
            guard end != nil else { return nil }
            if let header = try endLine() { return header }
            lineStart = bytes.count
        }
        return nil
    }

    /// Refuses content of another format at the first byte that differs.
    private func checkVersion() throws(SealingError) {
        guard !SealedHeader.version.starts(with: bytes) else { return }
        let (name, armor) = ("age-encryption.org/", "-----BEGIN AGE ")
        if bytes.starts(with: name.utf8) { throw .unsupported("Another version of the age format") }
        if bytes.starts(with: armor.utf8) { throw .unsupported("An age file written as text") }
        guard name.utf8.starts(with: bytes) || armor.utf8.starts(with: bytes) else { throw .notSealed }
    }

    private mutating func endLine() throws(SealingError) -> SealedHeader? {
        let line = bytes[lineStart...].dropLast()
        switch state {
        case .version: state = .between
        case .body(let stanza): try add(line, to: stanza)
        case .between:
            if line.starts(with: SealedHeader.end) { return try header(line) }
            try begin(line)
        }
        return nil
    }

    private mutating func begin(_ line: ArraySlice<UInt8>) throws(SealingError) {
        guard line.starts(with: "-> ".utf8) else {
            throw .malformed("A line of the header is neither a recipient nor the end.")
        }
        guard stanzas.count < SealedHeader.mostStanzas else {
            throw .tooLarge("The header is for more than \(SealedHeader.mostStanzas) recipients.")
        }
        let words = line.dropFirst(3).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.allSatisfy({ !$0.isEmpty && $0.allSatisfy { 0x21...0x7E ~= $0 } }) else {
            throw .malformed("A recipient in the header has an empty word or one that is not printable ASCII.")
        }
        state = .body(HeaderStanza(arguments: words.map { String(decoding: $0, as: UTF8.self) }))
    }

    private mutating func add(_ line: ArraySlice<UInt8>, to stanza: HeaderStanza) throws(SealingError) {
        guard line.count <= HeaderStanza.lineLength, let part = UnpaddedBase64.decode(line) else {
            throw .malformed("A line of the header is not base64 of up to \(HeaderStanza.lineLength) characters.")
        }
        var longer = stanza
        longer.body += part
        if line.count == HeaderStanza.lineLength {
            state = .body(longer)
        } else {
            stanzas.append(longer)
            state = .between
        }
    }

    private func header(_ line: ArraySlice<UInt8>) throws(SealingError) -> SealedHeader {
        let digits = line.dropFirst(SealedHeader.end.count)
        guard !stanzas.isEmpty, digits.first == UInt8(ascii: " "),
            let code = UnpaddedBase64.decode(digits.dropFirst()).flatMap({ Bytes32($0) })
        else { throw .malformed("The last line of the header is malformed, or no recipient precedes it.") }
        // A reader assumes that content which a passphrase opens was sent by a person who knows the passphrase, so
        // there must be no other recipient (age, "scrypt recipient stanza").
        guard stanzas.count == 1 || !stanzas.contains(where: { $0.arguments.first == "scrypt" }) else {
            throw .malformed("A passphrase and other recipients are in one header.")
        }
        return SealedHeader(bytes: bytes, stanzas, code)
    }
}
