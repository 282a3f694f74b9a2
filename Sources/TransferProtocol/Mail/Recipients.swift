import TransferModel

/// Names that an upload is for. As they came: what a name is, the server decides.
package struct Recipients: Equatable, Sendable {
    /// Each behind a byte with its length: one array, however many there are.
    package let encoded: [UInt8]

    /// Bytes of a name at most: those of a name in the access lists are fewer.
    package static let nameSize = 255

    /// Bytes of all names with their lengths, so that they fit into a frame beside the longest path.
    package static let mostBytes = 11 << 10

    /// - Returns: nothing for no name, one without a byte, one that is too long, or too many.
    package init?(_ names: [String]) {
        var encoded: [UInt8] = []
        for name in names {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else { return nil }
            encoded.append(length)
            encoded.append(contentsOf: name.utf8)
        }
        guard !encoded.isEmpty, encoded.count <= Self.mostBytes else { return nil }
        self.encoded = encoded
    }

    init(_ value: [UInt8]) throws(ProtocolFault) {
        guard !value.isEmpty, value.count <= Self.mostBytes else {
            throw .malformed("The recipients have \(value.count) bytes; the limit is \(Self.mostBytes).")
        }
        encoded = value
        var offset = 0
        while offset < value.count {
            let end = offset + 1 + Int(value[offset])
            guard value[offset] > 0, end <= value.count else { throw .malformed("A recipient has no whole name.") }
            offset = end
        }
    }

    /// Those that are UTF-8, each once, in their order; another one becomes a name that nobody can have.
    package var names: [String] {
        var (names, seen) = ([String](), Set<[UInt8]>())
        var offset = 0
        while offset < encoded.count {
            let end = offset + 1 + Int(encoded[offset])
            let bytes = Array(encoded[(offset + 1)..<end])
            offset = end
            guard seen.insert(bytes).inserted else { continue }
            names.append(String(validating: bytes, as: UTF8.self) ?? Begin.undecodablePath)
        }
        return names
    }
}
