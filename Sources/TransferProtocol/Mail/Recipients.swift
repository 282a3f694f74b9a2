import TransferModel

/// Names of an upload's recipients as the client sent them; the server checks whether they are valid.
package struct Recipients: Equatable, Sendable {
    /// All names in one array, each preceded by a byte with its length.
    package let encoded: [UInt8]

    /// Most bytes of a name; names in access lists are shorter.
    package static let nameSize = 255

    /// Most bytes of all names with their lengths, so that they fit into a frame beside the longest path.
    package static let mostBytes = 11 << 10

    /// - Returns: nil if there is no name, a name is empty or too long, or there are too many names.
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
            guard value[offset] > 0, end <= value.count else {
                throw .malformed("A recipient's name is empty or cut off.")
            }
            offset = end
        }
    }

    /// The names in order, without duplicates. A name that is not UTF-8 is replaced by one that no person can have.
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
