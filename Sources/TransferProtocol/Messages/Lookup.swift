package import TransferModel

/// Asks about many uploads at once, before anything of them is sent: whoever pushes the same files again need not send
/// what the server has acknowledged and still holds unchanged.
package struct Lookup: Equatable, Sendable {
    /// As in the `begin` that would follow.
    package var digest: DigestFunction

    /// 1 to `Limits.lookup`, none of them `none`. Each is answered by its result, or in an `unknown`.
    package var ids: [UploadID]

    package init(_ ids: [UploadID], digest: DigestFunction) {
        self.ids = ids
        self.digest = digest
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        let number = try reader.integer(UInt8.self)
        guard let digest = DigestFunction(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "Digest algorithm \(number) is not known here.")
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
    /// Two bytes of count, then that many ids.
    ///
    /// - Throws: `malformedFrame` also when there are none or more than `Limits.lookup`, and for `none`.
    mutating func uploadIDs() throws(ProtocolFault) -> [UploadID] {
        let count = Int(try integer(UInt16.self))
        guard (1...Limits.lookup).contains(count) else {
            throw .malformed("A frame names 1 to \(Limits.lookup) uploads, not \(count).")
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
    /// Two bytes of count, then the ids.
    mutating func append(ids: [UploadID]) {
        append(bigEndian: UInt16(ids.count))
        for id in ids { id.encode(into: &self) }
    }
}
