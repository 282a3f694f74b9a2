import TransferModel

/// A server's name on its network, for users who choose one. It proves nothing about the server.
package struct DiscoveryName: Hashable, Sendable {
    /// Most bytes of UTF-8, as for a host name (HOST_NAME_MAX of gethostname(2)).
    package static let longest = 64

    package let text: String

    /// - Returns: nil if the text is empty, too long or only digits, contains `:` or `/`, begins or ends with a space,
    ///   or has characters that could control a terminal: it appears in `discover:NAME:PORT/FOLDER` and in tables.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.longest).contains(bytes.count), bytes.contains(where: { !(0x30...0x39).contains($0) }),
            !bytes.contains(UInt8(ascii: ":")), !bytes.contains(UInt8(ascii: "/")), bytes.first != 0x20,
            bytes.last != 0x20,
            text.escapedForDisplay.hasSameBytes(as: text)
        else { return nil }
        self.text = text
    }

    /// - Returns: nil also for bytes that are not UTF-8.
    init?(_ bytes: some Collection<UInt8>) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }

    /// Compares bytes: texts that only look alike are different names.
    package static func == (a: Self, b: Self) -> Bool { a.text.hasSameBytes(as: b.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
