package import TransferModel

/// Asks whether what the server has of one folder is what the client says by a single digest: a question of some bytes, however
/// many files there are. Answered by an `outcome`: `alreadyStored` when it is, and `completed` when it is not.
package struct CompareRequest: Equatable, Sendable {
    /// What is compared.
    package enum Subject: Equatable, Sendable {
        /// The uploads of the folder's files that were acknowledged with this function, and that the server would answer a
        /// `lookup` for.
        case uploads(DigestFunction)
        /// The files and folders in it, by names, sizes and times of modification.
        case entries
    }

    package var id: UInt32
    package var subject: Subject

    /// Of all of them, and how many they are: at least one.
    package var digest: FolderDigest

    /// Checked by the server; empty for the client's own top.
    package var path: String

    package init(id: UInt32 = 0, _ subject: Subject, in path: String, _ digest: FolderDigest) {
        (self.id, self.subject, self.path, self.digest) = (id, subject, path, digest)
    }

    /// On the wire a digest function has its own number, and this stands for none.
    private static let entries: UInt8 = 0

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let number = try reader.integer(UInt8.self)
        if number == Self.entries {
            subject = .entries
        } else if let function = DigestFunction(rawValue: number) {
            subject = .uploads(function)
        } else {
            throw ProtocolFault(.unsupportedDigest, "Digest algorithm \(number) is not known here.")
        }
        let count = try reader.integer(UInt32.self)
        guard count > 0 else { throw .malformed("A compare frame is about nothing.") }
        digest = FolderDigest(count: count, bytes: try reader.array(FolderDigest.size))
        path = try reader.path()
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        switch subject {
        case .entries: bytes.append(Self.entries)
        case .uploads(let function): bytes.append(function.rawValue)
        }
        bytes.append(bigEndian: digest.count)
        bytes.append(contentsOf: digest.bytes)
        bytes.append(path: path)
    }
}
