import TransferModel

/// One line of a list of who may come in, taken apart: `[OPTIONS] KIND FIELD... NAME`, separated by spaces or tabs.
package struct AccessLine: Sendable {
    package let options: AccessOptions

    /// What sort of entry it is, and what follows that.
    let kind: String
    let fields: [String]

    /// The rest of the line: for people, spaces within it allowed.
    let name: String

    /// Bytes of a name: it fits into a receipt and a line of a terminal.
    package static let longestName = 128

    /// Bytes of a line: the longest folder, a key or a hash, a name, and room for quotes.
    static let longest = 16 << 10

    /// Reads a line that is neither empty nor a comment.
    ///
    /// - Parameters:
    ///   - bytes: without the end of the line.
    ///   - kinds: how many fields follow each kind.
    /// - Throws: a phrase that says what is wrong.
    init(_ bytes: some Collection<UInt8>, kinds: [String: Int]) throws(AccessFault) {
        guard bytes.count <= Self.longest else { throw AccessFault("it is longer than \(Self.longest) bytes") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw AccessFault("it is not UTF-8") }
        guard !bytes.contains(where: { ($0 < 0x20 && $0 != UInt8(ascii: "\t")) || $0 == 0x7F }) else {
            throw AccessFault("it contains control characters")
        }
        var scanner = AccessLineScanner(text)
        var kind = scanner.peekWord()
        if kinds[kind] == nil {
            options = try AccessOptions(scanner.options())
            kind = scanner.peekWord()
        } else {
            options = AccessOptions()
        }
        guard let count = kinds[kind] else {
            let known = kinds.keys.sorted().map { "'\($0)'" }.joined(separator: " or ")
            throw AccessFault("\(known) is missing")
        }
        self.kind = scanner.word()
        fields = (0..<count).map { _ in scanner.word() }
        guard !fields.contains("") else { throw AccessFault("something is missing behind '\(kind)'") }
        name = scanner.remainder()
        try Self.check(name)
    }

    /// - Throws: a phrase that says what is wrong with a name.
    package static func check(_ name: String) throws(AccessFault) {
        guard !name.isEmpty else { throw AccessFault("it has no name") }
        guard name.utf8.count <= longestName else { throw AccessFault("its name is longer than \(longestName) bytes") }
        // Byte by byte: with a mark behind it a space is another character, and is left out all the same.
        let (first, last) = (name.utf8.first, name.utf8.last)
        guard name.escapedForDisplay == name, first != UInt8(ascii: " "), last != UInt8(ascii: " ") else {
            throw AccessFault("its name contains characters that cannot be shown")
        }
    }
}

/// Why something about access cannot be done or read.
package struct AccessFault: Error, Equatable, Sendable {
    /// A phrase for a line of a file, a sentence otherwise.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
