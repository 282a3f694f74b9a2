package import TransferModel

/// The result of an upload. A result with the ID zero concerns the connection and ends it.
package struct UploadResult: Equatable, Sendable {
    package var id: UploadID
    package var code: ResultCode

    /// Whether the file and its directory were synced before this result was sent.
    package var isDurable = false

    /// Bytes of content that the server has received.
    package var size: UInt64

    /// Digest that the server computed from the stored content; present if `code` is a success other than `skipped`.
    package var digest: Digest?

    /// Path of the content if it is not the one in `begin`, or if there was no `begin`.
    package var storedPath: String?

    /// A sentence for users; may be empty.
    package var message = ""

    /// Milliseconds until a retry can succeed.
    package var retryAfter: UInt32?

    /// A signed receipt, if the client wants receipts and this one is not in a `receipts` frame.
    package var receipt: [UInt8]?

    /// Kind of the content. Present only in the answer to a lookup, because a client that sends `begin` knows the kind.
    package var kind: ContentKind?

    /// Whether the upload replaced other content under the path. Older servers don't say.
    package var hasReplaced = false

    /// The batch of the trash with the replaced content; nil if the server keeps no replaced content, or no longer
    /// knows the batch.
    package var trash: TrashBatch?

    package init(
        id: UploadID, code: ResultCode, isDurable: Bool = false, size: UInt64 = 0, digest: Digest? = nil,
        storedPath: String? = nil, message: String = "", retryAfter: UInt32? = nil,
        receipt: [UInt8]? = nil, kind: ContentKind? = nil
    ) {
        self.id = id
        self.code = code
        self.isDurable = isDurable
        self.size = size
        self.digest = digest
        self.storedPath = storedPath
        self.message = message
        self.retryAfter = retryAfter
        self.receipt = receipt
        self.kind = kind
    }

    /// Whether the content is stored under a path.
    package var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }

    /// The result for a fault of the peer. The connection closes after it is sent.
    package init(_ fault: ProtocolFault) {
        self.init(id: .none, code: fault.code, message: fault.message)
    }
}

extension UploadResult {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let durable = Flags(rawValue: 1)
        static let digest = Flags(rawValue: 2)
        static let all: Flags = [.durable, .digest]
    }

    /// The list is static, because a new one would be an allocation for every result.
    private static let tags: [FieldTag] = [.message, .storedPath, .retryAfter, .receipt, .kind, .replaced, .kept]

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.uploadID()
        code = ResultCode(rawValue: try reader.integer(UInt16.self))
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The result frame has unknown flags.") }
        isDurable = flags.contains(.durable)
        size = try reader.integer(UInt64.self)
        digest = flags.contains(.digest) ? try reader.digest() : nil
        let fields = try reader.fields(known: Self.tags)
        message = fields.text(.message)
        storedPath = try fields[.storedPath].map { (bytes) throws(ProtocolFault) in
            guard let path = String(validating: bytes, as: UTF8.self) else {
                throw .malformed("The stored path is not UTF-8.")
            }
            return path
        }
        retryAfter = try fields.number(.retryAfter)
        receipt = fields[.receipt]
        kind = try fields[.kind].map { (bytes) throws(ProtocolFault) in
            guard bytes.count == 1 else { throw .malformed("The kind field must have 1 byte.") }
            return ContentKind(rawValue: bytes[0]) ?? .file
        }
        if let value = fields[.replaced] {
            guard value.isEmpty else { throw .malformed("The field replaced must be empty.") }
            hasReplaced = true
        }
        trash = try fields.trash()
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if isDurable { flags.insert(.durable) }
        if digest != nil { flags.insert(.digest) }
        id.encode(into: &bytes)
        bytes.append(bigEndian: code.rawValue)
        bytes.append(flags.rawValue)
        bytes.append(bigEndian: size)
        if let digest { bytes.append(digest: digest) }
        bytes.append(field: .message, text: message)
        if let storedPath { bytes.append(field: .storedPath, storedPath.utf8) }
        if let retryAfter { bytes.append(field: .retryAfter, number: retryAfter) }
        if let receipt { bytes.append(field: .receipt, receipt) }
        if let kind { bytes.append(field: .kind, [kind.rawValue]) }
        if hasReplaced { bytes.append(field: .replaced, []) }
        if let trash { bytes.append(field: .kept, trash.name.utf8) }
    }
}
