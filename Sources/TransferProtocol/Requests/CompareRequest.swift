package import TransferModel

/// Asks whether a folder on the server equals the client's folder. A single digest stands for all files, so that the
/// request is small however many there are. An `outcome` is the answer: `alreadyStored` if the folders are equal,
/// `completed` if not.
package struct CompareRequest: Equatable, Sendable {
    /// The property of the folder that is compared.
    package enum Subject: Equatable, Sendable {
        /// The acknowledged uploads of the folder's files that have this digest function and that the server would
        /// confirm in a `lookup`.
        case uploads(DigestFunction)
        /// The folder's entries by name, size and time of modification.
        case entries
    }

    package var id: UInt32
    package var subject: Subject

    /// Digest and number of all items, of which there must be at least one.
    package var digest: FolderDigest

    /// Path of the folder, which the server checks; empty for the client's top folder.
    package var path: String

    package init(id: UInt32 = 0, _ subject: Subject, in path: String, _ digest: FolderDigest) {
        (self.id, self.subject, self.path, self.digest) = (id, subject, path, digest)
    }

    /// Number on the wire that stands for `.entries`. Other numbers are those of digest functions.
    private static let entries: UInt8 = 0

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let number = try reader.integer(UInt8.self)
        if number == Self.entries {
            subject = .entries
        } else if let function = DigestFunction(rawValue: number) {
            subject = .uploads(function)
        } else {
            throw ProtocolFault(.unsupportedDigest, "The digest algorithm \(number) is not supported.")
        }
        let count = try reader.integer(UInt32.self)
        guard count > 0 else { throw .malformed("A compare frame must cover at least one entry.") }
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
