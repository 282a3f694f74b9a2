package import TransferModel

/// Opens an upload on its lane; the `data` frames that follow belong to it.
package struct Begin: Equatable, Sendable {
    package var id: UploadID
    package var kind: ContentKind
    package var digest: DigestFunction
    package var conflict: ConflictPolicy

    /// The client waits for `accept` (or a `result`) before it sends data.
    package var expectsAccept: Bool

    /// Where to store; checked by the server, which answers a bad path with a result and lives on.
    package var path: String

    /// Bytes of content, or nothing when the source has no end yet.
    package var size: UInt64?

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777; others are dropped by the receiver.
    package var permissions: UInt16?

    /// What of an upload this opens.
    package var scope: Scope

    /// The people that the upload is for, who alone get it; nothing for one that is stored under its path.
    package var recipients: Recipients?

    /// What only the recipients can read: how a sealed upload is called, and by whom. Together with the recipients it has
    /// `Recipients.mostBytes` at most.
    package var note: [UInt8]?

    /// Whether the permissions are taken as they are, whatever the server's umask says.
    package var keepsPermissions: Bool

    /// Owner and extended attributes of the file; nothing where they are not kept.
    package var attributes: ExtraAttributes?

    /// Of the whole upload, how many bytes are not in holes as far as its sender can tell; nothing for content that has
    /// none. More than the size counts as the size.
    package var filled: UInt64?

    /// What the upload may take the place of, where it overwrites; `FileVersion.none` for nothing, and nil for whatever is there.
    package var version: FileVersion?

    /// What of an upload a `begin` opens.
    package enum Scope: Equatable, Sendable {
        /// All of it.
        case whole
        /// Some blocks of it, on any connection.
        case part(Part)
        /// Its end: the content is what its parts brought.
        case multipart
    }

    package init(
        id: UploadID, path: String, size: UInt64?, kind: ContentKind = .file, digest: DigestFunction = .xxh128,
        conflict: ConflictPolicy = .keepBoth, expectsAccept: Bool = false, modified: Timestamp? = nil,
        permissions: UInt16? = nil, scope: Scope = .whole,
        recipients: Recipients? = nil, note: [UInt8]? = nil, keepsPermissions: Bool = false,
        attributes: ExtraAttributes? = nil
    ) {
        (self.keepsPermissions, self.attributes) = (keepsPermissions, attributes)
        self.id = id
        self.path = path
        self.size = size
        self.kind = kind
        self.digest = digest
        self.conflict = conflict
        self.expectsAccept = expectsAccept
        self.modified = modified
        self.permissions = permissions
        self.scope = scope
        self.recipients = recipients
        self.note = note
    }
}

extension Begin {
    /// Which of the optional values are there.
    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let size = Presence(rawValue: 1)
        static let modified = Presence(rawValue: 2)
        static let permissions = Presence(rawValue: 4)
        static let expectsAccept = Presence(rawValue: 8)
        static let keepsPermissions = Presence(rawValue: 16)
        static let all: Presence = [.size, .modified, .permissions, .expectsAccept, .keepsPermissions]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.uploadID()
        guard id != .none else { throw .malformed("An upload id must not be zero.") }
        let presence = Presence(rawValue: try reader.integer(UInt8.self))
        guard Presence.all.isSuperset(of: presence) else { throw .malformed("The begin frame has unknown flags.") }
        kind = ContentKind(rawValue: try reader.integer(UInt8.self)) ?? .file
        let number = try reader.integer(UInt8.self)
        guard let digest = DigestFunction(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "Digest algorithm \(number) is not known here.")
        }
        self.digest = digest
        guard let conflict = ConflictPolicy(rawValue: try reader.integer(UInt8.self)) else {
            throw .malformed("The begin frame has an unknown conflict policy.")
        }
        self.conflict = conflict
        expectsAccept = presence.contains(.expectsAccept)
        keepsPermissions = presence.contains(.keepsPermissions)
        size = presence.contains(.size) ? try reader.integer(UInt64.self) : nil
        modified = presence.contains(.modified) ? try Timestamp(&reader) : nil
        permissions = presence.contains(.permissions) ? try reader.integer(UInt16.self) : nil
        // A path that is not UTF-8 is the upload's fault, not the connection's: it becomes one that no check lets pass.
        path = String(validating: try reader.sizedArray(), as: UTF8.self) ?? Self.undecodablePath
        let fields = try reader.fields(known: Self.tags)
        scope = try Scope(fields, size: size)
        recipients = try fields[.recipients].map { (value) throws(ProtocolFault) in try Recipients(value) }
        note = fields[.note]
        attributes = try ExtraAttributes(fields)
        filled = try fields.longNumber(.filled)
        version = try FileVersion(fields)
        guard (note?.count ?? 0) + (recipients?.encoded.count ?? 0) <= Recipients.mostBytes else {
            throw .malformed("The recipients and their note are too long.")
        }
    }

    /// Made once: it would be an allocation for every small file.
    private static let tags: [FieldTag] = [.part, .multipart, .recipients, .note, .attributes, .filled, .version]

    /// Stands for a path that was not UTF-8. It contains NUL, so that `RelativePath` refuses it.
    package static let undecodablePath = "\u{FFFD}\0"

    func encode(into bytes: inout [UInt8]) {
        var presence: Presence = []
        if size != nil { presence.insert(.size) }
        if modified != nil { presence.insert(.modified) }
        if permissions != nil { presence.insert(.permissions) }
        if expectsAccept { presence.insert(.expectsAccept) }
        if keepsPermissions { presence.insert(.keepsPermissions) }
        id.encode(into: &bytes)
        bytes.append(presence.rawValue)
        bytes.append(kind.rawValue)
        bytes.append(digest.rawValue)
        bytes.append(conflict.rawValue)
        if let size { bytes.append(bigEndian: size) }
        if let modified { modified.encode(into: &bytes) }
        if let permissions { bytes.append(bigEndian: permissions) }
        bytes.append(path: path)
        scope.encode(into: &bytes)
        if let filled { bytes.append(field: .filled, longNumber: filled) }
        if let recipients { bytes.append(field: .recipients, recipients.encoded) }
        if let attributes, !attributes.isEmpty, recipients == nil, note == nil {
            bytes.append(field: .attributes, attributes.encoded)
        }
        version?.encodeField(into: &bytes)
        if let note { bytes.append(field: .note, note.prefix(Recipients.mostBytes - (recipients?.encoded.count ?? 0))) }
    }
}

extension Timestamp {
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        self.init(seconds: try reader.integer(Int64.self), nanoseconds: try reader.integer(UInt32.self))
        guard nanoseconds < 1_000_000_000 else { throw .malformed("A time has more than a second of nanoseconds.") }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: seconds)
        bytes.append(bigEndian: nanoseconds)
    }
}
