import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Somebody who seals for others, and opens what is sealed for her.
struct Correspondent {
    let key = KeyPair()
    let sealing: SealingKey

    init() throws {
        sealing = try SealingKey()
    }

    /// - Parameter path: of the list of people that she has seen.
    func identity(_ path: String) -> SealingIdentity {
        SealingIdentity(key: key, sealing: sealing, people: KnownPeople(path: path))
    }
}

/// A file that is sealed, and its note, as they travel.
struct Parcel {
    var content: [UInt8]
    var note: [UInt8]

    /// What the note says beside the name.
    struct Details {
        var kind = ContentKind.file
        /// Nil for that of the content.
        var size: UInt64?
        /// Whose digest it names; nil for the content itself.
        var other: [UInt8]?
        var modified: Timestamp?
        var permissions: UInt16?
        /// Nothing for that of the content.
        var tag: SealedTag?
    }

    let tag: SealedTag

    /// - Parameters:
    ///   - path: what the sender calls it.
    ///   - recipients: who can open it.
    ///   - readers: who can open its note, where these are others.
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

    /// The same with a note that its sender has signed, whatever the path is.
    ///
    /// - Parameter content: what was sealed.
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
    /// Puts a sealed file in, as a server has it.
    @discardableResult
    func deliver(_ mail: Parcel, as name: String = "sealed.age", from person: String = "alice") -> UploadID {
        deliver(name, mail.content, from: person, note: mail.note)
    }
}
