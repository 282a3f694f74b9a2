package import TransferModel

/// Asks for the contents of a mailbox, or for the states of the deliveries that the client has sent.
package struct MailRequest: Equatable, Sendable {
    package enum Box: UInt8, Sendable {
        /// Deliveries addressed to the client.
        case inbox = 1
        /// Deliveries that the client has sent.
        case sent = 2
    }

    package var id: UInt32
    package var box: Box

    /// Only deliveries with larger numbers are wanted.
    package var after: UInt64

    /// Whether the server announces later deliveries with `arrived` until the connection ends.
    package var watches: Bool

    /// Whether the answer contains the receipts of delivered uploads.
    package var wantsReceipts: Bool

    /// Whether the inbox includes deliveries that have ended; the sent box always does.
    package var wantsEnded: Bool

    package init(
        id: UInt32, _ box: Box, after: UInt64 = 0, watches: Bool = false, wantsReceipts: Bool = false,
        wantsEnded: Bool = false
    ) {
        (self.id, self.box, self.after) = (id, box, after)
        (self.watches, self.wantsReceipts, self.wantsEnded) = (watches, wantsReceipts, wantsEnded)
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let watches = Flags(rawValue: 1)
        static let receipts = Flags(rawValue: 2)
        static let ended = Flags(rawValue: 4)
        static let all: Flags = [.watches, .receipts, .ended]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let number = try reader.integer(UInt8.self)
        guard let box = Box(rawValue: number) else { throw .malformed("There is no mailbox \(number).") }
        self.box = box
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The mail frame has unknown flags.") }
        watches = flags.contains(.watches)
        wantsReceipts = flags.contains(.receipts)
        wantsEnded = flags.contains(.ended)
        after = try reader.integer(UInt64.self)
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if watches { flags.insert(.watches) }
        if wantsReceipts { flags.insert(.receipts) }
        if wantsEnded { flags.insert(.ended) }
        bytes.append(bigEndian: id)
        bytes.append(box.rawValue)
        bytes.append(flags.rawValue)
        bytes.append(bigEndian: after)
    }
}

/// Deliveries of a mailbox. Any number of these frames answer the request, and an `outcome` ends them.
package struct Deliveries: Equatable, Sendable {
    /// ID of the request that this answers.
    package var id: UInt32

    package var deliveries: [ListedDelivery]

    /// Most bytes of all deliveries in one frame.
    package static let room = Entries.room

    package init(id: UInt32, _ deliveries: [ListedDelivery]) {
        (self.id, self.deliveries) = (id, deliveries)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let count = Int(try reader.integer(UInt16.self))
        deliveries = []
        for _ in 0..<count { deliveries.append(try ListedDelivery(&reader)) }
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(bigEndian: UInt16(deliveries.count))
        for delivery in deliveries { delivery.encode(into: &bytes) }
    }
}

/// Deliveries of a mailbox. Any number of these frames may answer the request; an `outcome` ends the answer.
package struct ListedDelivery: Equatable, Sendable {
    /// Number of the delivery, larger than those of all earlier deliveries on the server.
    package var number: UInt64

    /// ID of the upload, the same for all recipients.
    package var id: UploadID

    package var state: DeliveryState

    /// The other person: the sender in the inbox, the recipient in the sent box.
    package var person: String

    /// The path that the sender has chosen.
    package var name: String

    package var kind: ContentKind

    /// Size of the content in bytes.
    package var size: UInt64

    package var digest: Digest

    /// Time of the upload in milliseconds since 1970.
    package var queued: Int64

    /// Time at which the delivery entered its state, in milliseconds since 1970.
    package var changed: Int64

    package var modified: Timestamp?

    package var permissions: UInt16?

    /// The note of a sealed upload, which only the recipients can read.
    package var note: [UInt8]?

    /// The recipient's signed receipt, if the request asks for it.
    package var receipt: [UInt8]?

    /// Whether the sender used a protocol without keys, so that the sender's name is unproven; false in the sent box.
    package var isUnproven: Bool

    /// Most bytes of a receipt. A longer text is possible if a name of `Limits.path` bytes is completely escaped; the
    /// server then cuts the name where it makes the receipt.
    package static let receiptSize = 8 << 10

    package init(
        number: UInt64, id: UploadID, state: DeliveryState, person: String, name: String, kind: ContentKind,
        size: UInt64, digest: Digest, queued: Int64, changed: Int64, modified: Timestamp? = nil,
        permissions: UInt16? = nil, note: [UInt8]? = nil, receipt: [UInt8]? = nil, isUnproven: Bool = false
    ) {
        (self.number, self.id, self.state, self.person) = (number, id, state, person)
        (self.name, self.kind, self.size, self.digest) = (name, kind, size, digest)
        (self.queued, self.changed, self.modified) = (queued, changed, modified)
        (self.permissions, self.note, self.receipt) = (permissions, note, receipt)
        self.isUnproven = isUnproven
    }

    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let modified = Presence(rawValue: 1)
        static let permissions = Presence(rawValue: 2)
        static let receipt = Presence(rawValue: 4)
        static let note = Presence(rawValue: 8)
        /// This flag is the value of a property. The other flags say which fields are present.
        static let unproven = Presence(rawValue: 16)
        static let all: Presence = [.modified, .permissions, .receipt, .note, .unproven]
    }

    /// Most bytes of the delivery in a frame.
    package var encodedSize: Int {
        8 + 16 + 1 + 1 + 1 + 8 + 8 + 8 + 12 + 2 + 1 + digest.bytes.count + 2 + person.utf8.count + 2 + name.utf8.count
            + (note.map { 2 + $0.count } ?? 0) + (receipt.map { 2 + $0.count } ?? 0)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        number = try reader.integer(UInt64.self)
        id = try reader.uploadID()
        let state = try reader.integer(UInt8.self)
        guard let state = DeliveryState(rawValue: state) else { throw .malformed("There is no state \(state).") }
        self.state = state
        kind = ContentKind(rawValue: try reader.integer(UInt8.self)) ?? .file
        let presence = Presence(rawValue: try reader.integer(UInt8.self))
        guard Presence.all.isSuperset(of: presence) else { throw .malformed("A delivery has unknown flags.") }
        size = try reader.integer(UInt64.self)
        guard size <= Limits.uploadSize else {
            throw .malformed("The size of a delivery, \(size) bytes, is larger than the largest file.")
        }
        queued = try reader.integer(Int64.self)
        changed = try reader.integer(Int64.self)
        modified = presence.contains(.modified) ? try Timestamp(&reader) : nil
        permissions = presence.contains(.permissions) ? try reader.integer(UInt16.self) : nil
        digest = try reader.digest()
        person = try reader.personName()
        name = try reader.path()
        note = presence.contains(.note) ? try reader.sizedArray() : nil
        receipt = presence.contains(.receipt) ? try reader.sizedArray() : nil
        isUnproven = presence.contains(.unproven)
    }

    func encode(into bytes: inout [UInt8]) {
        var presence: Presence = []
        if modified != nil { presence.insert(.modified) }
        if permissions != nil { presence.insert(.permissions) }
        if receipt != nil { presence.insert(.receipt) }
        if note != nil { presence.insert(.note) }
        if isUnproven { presence.insert(.unproven) }
        bytes.append(bigEndian: number)
        id.encode(into: &bytes)
        bytes.append(state.rawValue)
        bytes.append(kind.rawValue)
        bytes.append(presence.rawValue)
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: queued)
        bytes.append(bigEndian: changed)
        modified?.encode(into: &bytes)
        if let permissions { bytes.append(bigEndian: permissions) }
        bytes.append(digest: digest)
        bytes.append(sized: person.utf8)
        bytes.append(path: name)
        if let note { bytes.append(sized: note) }
        if let receipt { bytes.append(sized: receipt) }
    }
}
