package import TransferModel

/// The end of a request. Every request ends with it except a `fetch` whose content was sent completely.
package struct Outcome: Equatable, Sendable {
    /// ID of the request that this ends.
    package var id: UInt32

    package var code: ResultCode

    /// Whether the change was synced to disk before this outcome was sent.
    package var isDurable: Bool

    /// Number of entries listed or files removed.
    package var count: UInt64

    /// A sentence for users; may be empty.
    package var message: String

    /// Milliseconds until a retry can succeed.
    package var retryAfter: UInt32?

    /// Number of files, folders and links that a list leaves out because their names cannot be in a path. Older servers
    /// don't say.
    package var unlisted: UInt64 = 0

    /// The batch of the trash with the file that a `move` has replaced; nil if it replaced no file, or the server keeps
    /// no replaced files.
    package var trash: TrashBatch?

    /// What the server has found out about a picture, an object of JSON; empty unless a list has asked for it.
    package var picture = ""

    /// Bytes of the longest outcome of a change, which has all fields but `picture`.
    package static let mostBytes: Int = {
        var outcome = Outcome(
            id: 0, code: .completed, message: String(repeating: "a", count: Limits.text), retryAfter: 1)
        (outcome.unlisted, outcome.trash) = (1, TrashBatch(at: 0, number: 0))
        var bytes: [UInt8] = []
        Message.outcome(outcome).encode(into: &bytes)
        return bytes.count
    }()

    package init(
        id: UInt32, code: ResultCode, isDurable: Bool = false, count: UInt64 = 0, message: String = "",
        retryAfter: UInt32? = nil
    ) {
        self.id = id
        self.code = code
        self.isDurable = isDurable
        self.count = count
        self.message = message
        self.retryAfter = retryAfter
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        code = ResultCode(rawValue: try reader.integer(UInt16.self))
        let flags = try reader.integer(UInt8.self)
        guard flags <= 1 else { throw .malformed("The outcome frame has unknown flags.") }
        isDurable = flags == 1
        count = try reader.integer(UInt64.self)
        let fields = try reader.fields(known: [.message, .retryAfter, .unlisted, .kept, .picture])
        message = fields.text(.message)
        retryAfter = try fields.number(.retryAfter)
        unlisted = try fields.longNumber(.unlisted) ?? 0
        trash = try fields.trash()
        picture = fields.text(.picture)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(bigEndian: code.rawValue)
        bytes.append(isDurable ? 1 : 0)
        bytes.append(bigEndian: count)
        bytes.append(field: .message, text: message)
        if let retryAfter { bytes.append(field: .retryAfter, number: retryAfter) }
        if unlisted > 0 { bytes.append(field: .unlisted, Swift.withUnsafeBytes(of: unlisted.bigEndian) { Array($0) }) }
        if let trash { bytes.append(field: .kept, trash.name.utf8) }
        bytes.append(field: .picture, text: picture)
    }
}
