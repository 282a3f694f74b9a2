import TransferModel

/// What a server is called on its network, for people who look for it. Nobody vouches for it.
package struct DiscoveryName: Hashable, Sendable {
    /// Bytes of UTF-8: as many as a host name has (HOST_NAME_MAX of gethostname(2)).
    package static let longest = 64

    package let text: String

    /// - Returns: nothing for what is empty, too long or only digits, has `:` or `/`, begins or ends with a space, or could
    ///   steer a terminal: it stands in `discover:NAME:PORT/FOLDER` and in tables.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.longest).contains(bytes.count), bytes.contains(where: { !(0x30...0x39).contains($0) }),
            !bytes.contains(UInt8(ascii: ":")), !bytes.contains(UInt8(ascii: "/")), bytes.first != 0x20,
            bytes.last != 0x20,
            text.escapedForDisplay.hasSameBytes(as: text)
        else { return nil }
        self.text = text
    }

    /// - Returns: nothing for bytes that are not UTF-8 either.
    init?(_ bytes: some Collection<UInt8>) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }

    /// Byte by byte: two texts that look alike are two names.
    package static func == (a: Self, b: Self) -> Bool { a.text.hasSameBytes(as: b.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
