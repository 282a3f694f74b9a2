import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A person who seals files for others and opens files that are sealed for this person.
struct Correspondent {
    let key = KeyPair()
    let sealing: SealingKey

    init() throws {
        sealing = try SealingKey()
    }

    /// - Parameter path: path of the person's list of known people.
    func identity(_ path: String) -> SealingIdentity {
        SealingIdentity(key: key, sealing: sealing, people: KnownPeople(path: path))
    }
}

/// A sealed file and its note, as they are sent.
struct Parcel {
    var content: [UInt8]
    var note: [UInt8]

    /// Contents of the note besides the path.
    struct Details {
        var kind = ContentKind.file
        /// Size in the note; nil for the size of the content.
        var size: UInt64?
        /// The content whose digest the note names; nil for the real content.
        var other: [UInt8]?
        var modified: Timestamp?
        var permissions: UInt16?
        /// Tag in the note; nil for the tag of the sealed content.
        var tag: SealedTag?
    }

    let tag: SealedTag

    /// - Parameters:
    ///   - path: path in the note.
    ///   - recipients: keys that can open the content.
    ///   - readers: keys that can open the note; nil for the recipients of the content.
    init(
        _ path: String, _ content: [UInt8], by sender: KeyPair, for recipients: [SealingKey],
        noteFor readers: [SealingKey]? = nil, _ change: (inout Details) -> Void = { _ in }
    ) throws {
        let keys = recipients.map(\.recipient)
        let source = SealingSource(size: UInt64(content.count), context: Array(path.utf8))
        let state = try SealingState(sealing: source, for: keys)
        var sealed: [UInt8] = []
        let sealer = try Sealer(state, sealing: source, for: keys)
        try sealer.seal(content.span.bytes, into: &sealed)
        try sealer.finish(into: &sealed)
        (self.content, tag) = (sealed, try state.tag)
        var details = Details()
        change(&details)
        let said = SealedNote.Content(
            size: details.size ?? UInt64(content.count),
            digest: FakeMailbox.digest(details.other ?? content, SealedNote.digestFunction))
        let note = SealedNote(
            try RelativePath(path), details.kind, said, modified: details.modified, permissions: details.permissions,
            of: details.tag ?? tag, by: sender)
        self.note = try note.sealed(for: (readers ?? recipients).map(\.recipient))
    }

    /// Replaces the note by one that the sender has signed, for any path.
    ///
    /// - Parameter content: the content before sealing.
    mutating func rename(
        to path: String, _ content: [UInt8], by sender: KeyPair, for recipients: [SealingKey]
    ) throws {
        var fields: [UInt8] = [2, ContentKind.file.rawValue, 0]
        fields.append(bigEndian: UInt64(content.count))
        fields += [UInt8](repeating: 0, count: 8 + 4 + 2)
        fields += FakeMailbox.digest(content, SealedNote.digestFunction).bytes + tag.digest.bytes + sender.key.raw.bytes
        fields.append(bigEndian: UInt16(path.utf8.count))
        fields += Array(path.utf8)
        let signed = fields + sender.sign(Array("transfer sealed note v2\n".utf8) + fields)
        let padding = [UInt8](repeating: 0, count: SealedNote.block - signed.count % SealedNote.block)
        let sealer = try Sealer(streamFor: recipients.map(\.recipient))
        note = []
        try sealer.seal((signed + padding).span.bytes, into: &note)
        try sealer.finish(into: &note)
    }
}

extension FakeMailbox {
    /// Adds a sealed file to the mailbox.
    @discardableResult
    func deliver(_ mail: Parcel, as name: String = "sealed.age", from person: String = "alice") -> UploadID {
        deliver(name, mail.content, from: person, note: mail.note)
    }
}
