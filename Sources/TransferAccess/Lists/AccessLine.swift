import TransferModel

/// One line of an access list, split into its parts: `[OPTIONS] KIND FIELD... NAME`, separated by spaces or tabs.
package struct AccessLine: Sendable {
    package let options: AccessOptions

    /// Kind of the entry, and the fields that follow it.
    let kind: String
    let fields: [String]

    /// The rest of the line: a name for users, which may contain spaces.
    let name: String

    /// Most bytes of a name, which must fit into a receipt and a line of a terminal.
    package static let longestName = 128

    /// Most bytes of a line: the longest folder, a key or a hash, a name, and room for quotes.
    static let longest = 16 << 10

    /// Reads a line that is neither empty nor a comment.
    ///
    /// - Parameters:
    ///   - bytes: the line without its end.
    ///   - kinds: for each kind, the number of fields that follow it.
    /// - Throws: a phrase about the fault.
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
        guard !fields.contains("") else { throw AccessFault("a field is missing after '\(kind)'") }
        name = scanner.remainder()
        try Self.check(name)
    }

    /// - Throws: a phrase about the fault of the name.
    package static func check(_ name: String) throws(AccessFault) {
        guard !name.isEmpty else { throw AccessFault("it has no name") }
        guard name.utf8.count <= longestName else { throw AccessFault("its name is longer than \(longestName) bytes") }
        // The name is examined by bytes: in Swift a space and a combining mark after it are one other character, but
        // the space is removed all the same.
        let (first, last) = (name.utf8.first, name.utf8.last)
        guard name.escapedForDisplay == name, first != UInt8(ascii: " "), last != UInt8(ascii: " ") else {
            throw AccessFault("its name contains characters that cannot be shown")
        }
    }
}

/// The reason why an access list cannot be read or changed.
package struct AccessFault: Error, Equatable, Sendable {
    /// A phrase if a line is invalid, and otherwise a sentence.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
