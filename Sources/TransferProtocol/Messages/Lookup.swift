package import TransferModel

/// Asks which uploads are acknowledged, before any content is sent. A client that pushes the same files again need not
/// send content that the server still has unchanged.
package struct Lookup: Equatable, Sendable {
    /// The digest function that the client would name in `begin`.
    package var digest: DigestFunction

    /// IDs, 1 to `Limits.lookup`, never `none`. A `result` or an `unknown` answers each.
    package var ids: [UploadID]

    package init(_ ids: [UploadID], digest: DigestFunction) {
        self.ids = ids
        self.digest = digest
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        let number = try reader.integer(UInt8.self)
        guard let digest = DigestFunction(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "The digest algorithm \(number) is not supported.")
        }
        self.digest = digest
        ids = try reader.uploadIDs()
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(digest.rawValue)
        bytes.append(ids: ids)
    }
}

extension BodyReader {
    /// Reads a count of two bytes and that many IDs.
    ///
    /// - Throws: `malformedFrame` also for no ID, more than `Limits.lookup`, and the ID `none`.
    mutating func uploadIDs() throws(ProtocolFault) -> [UploadID] {
        let count = Int(try integer(UInt16.self))
        guard (1...Limits.lookup).contains(count) else {
            throw .malformed("A frame must name 1 to \(Limits.lookup) uploads, not \(count).")
        }
        var ids: [UploadID] = []
        ids.reserveCapacity(count)
        for _ in 0..<count {
            let id = try uploadID()
            guard id != .none else { throw .malformed("An upload id must not be zero.") }
            ids.append(id)
        }
        return ids
    }
}

extension [UInt8] {
    /// Appends two bytes of count, then the IDs.
    mutating func append(ids: [UploadID]) {
        append(bigEndian: UInt16(ids.count))
        for id in ids { id.encode(into: &self) }
    }
}
