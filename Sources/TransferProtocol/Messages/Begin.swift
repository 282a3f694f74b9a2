package import TransferModel

/// Opens an upload on its lane; the `data` frames that follow belong to it.
package struct Begin: Equatable, Sendable {
    package var id: UploadID
    package var kind: ContentKind
    package var digest: DigestFunction
    package var conflict: ConflictPolicy

    /// Whether the client waits for `accept` or a `result` before it sends data.
    package var expectsAccept: Bool

    /// Path of the upload, which the server checks. An invalid path fails the upload, not the connection.
    package var path: String

    /// Size of the content in bytes; nil while the end of the source is unknown.
    package var size: UInt64?

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777; the receiver drops others.
    package var permissions: UInt16?

    /// The part of the upload that this opens.
    package var scope: Scope

    /// The people to whom alone the upload is delivered; nil for an upload that is stored under its path.
    package var recipients: Recipients?

    /// The note of a sealed upload, with its name and sender, which only the recipients can read. Together with the
    /// recipients it has at most `Recipients.mostBytes`.
    package var note: [UInt8]?

    /// Whether the server applies the permissions without its umask.
    package var keepsPermissions: Bool

    /// Owner and extended attributes of the file; nil if they are not preserved.
    package var attributes: ExtraAttributes?

    /// Bytes of the whole upload that are outside holes, as far as the client can tell; nil for content without holes.
    /// A number above the size counts as the size.
    package var filled: UInt64?

    /// The version that the upload may overwrite: `FileVersion.none` if no file may exist, nil for any version.
    package var version: FileVersion?

    /// The part of an upload that a `begin` opens.
    package enum Scope: Equatable, Sendable {
        /// The whole content of the upload.
        case whole
        /// A part of the upload, which any connection may send.
        case part(Part)
        /// The end of a multipart upload: the server joins the parts to one file.
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
    /// Flags that say which optional values are present, and two options.
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
            throw ProtocolFault(.unsupportedDigest, "The digest algorithm \(number) is not supported.")
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
        // A path that is not UTF-8 must fail the upload, not the connection. So it is replaced by a path that every
        // check refuses.
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

    /// The list is static, because a new one would be an allocation for every small file.
    private static let tags: [FieldTag] = [.part, .multipart, .recipients, .note, .attributes, .filled, .version]

    /// Stands for a path that is not UTF-8. It contains NUL, so that `RelativePath` refuses it.
    package static let undecodablePath = RelativePath.undecodable

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
        guard nanoseconds < 1_000_000_000 else {
            throw .malformed("The nanoseconds of a time must be less than a second.")
        }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: seconds)
        bytes.append(bigEndian: nanoseconds)
    }
}
