package import TransferModel

/// One file, directory or link in a list.
package struct ListedEntry: Equatable, Sendable {
    /// The type of a listed entry.
    package enum Form: UInt8, Sendable {
        case file = 0
        case directory = 1
        /// A symbolic link; listed only if the request wants all.
        case symbolicLink = 2
        /// A type that this program doesn't know.
        case other = 255
    }

    package var form: Form

    /// A single path component as it is stored; empty for the client's top folder.
    package var name: String

    /// Size of the content in bytes; 0 for a directory.
    package var size: UInt64

    package var modified: Timestamp

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16

    /// Version of a file; `none` for any other entry.
    package var version: FileVersion

    /// The kind that the upload of the file declared; `file` if it is unknown.
    package var kind: ContentKind

    /// Digest of the content, if the server knows it without reading the file.
    package var digest: Digest?

    /// Time of the acknowledgement in milliseconds since 1970; nil if it is unknown.
    package var stored: Int64?

    /// Further attributes, if the request wants all.
    package var extras: Extras?

    /// Attributes that a list contains only if the request wants all.
    package struct Extras: Equatable, Sendable {
        /// Number of hard links of a file. The other names of the file may be anywhere.
        package var names: UInt32

        package var attributes: ExtraAttributes

        /// Target of a symbolic link, without zero bytes; empty for any other entry.
        package var target: [UInt8]

        /// Whether extended attributes are left out because there are too many of them or the server cannot read them.
        package var isPartial: Bool

        package init(
            names: UInt32 = 1, attributes: ExtraAttributes = ExtraAttributes(), target: [UInt8] = [],
            isPartial: Bool = false
        ) {
            (self.names, self.attributes, self.target, self.isPartial) = (names, attributes, target, isPartial)
        }
    }

    package init(
        _ form: Form, name: String, size: UInt64, modified: Timestamp, permissions: UInt16,
        version: FileVersion = .none, kind: ContentKind = .file, digest: Digest? = nil, stored: Int64? = nil,
        extras: Extras? = nil
    ) {
        self.extras = extras
        self.form = form
        self.name = name
        self.size = size
        self.modified = modified
        self.permissions = permissions
        self.version = version
        self.kind = kind
        self.digest = digest
        self.stored = stored
    }
}

extension ListedEntry {
    /// Flags that say which optional values are present.
    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let digest = Presence(rawValue: 1)
        static let stored = Presence(rawValue: 2)
        static let extras = Presence(rawValue: 4)
        static let all: Presence = [.digest, .stored, .extras]
    }

    /// Bit in the permissions that stands for `isPartial`. A client that doesn't know the bit drops it.
    private static let partial: UInt16 = 0x8000

    /// Bytes of the fields of fixed size: form, flags, kind, permissions, size, time, version, and length of the name.
    private static let fixedSize = 1 + 1 + 1 + 2 + 8 + 12 + 16 + 2

    /// Bytes of the entry in a frame.
    package var encodedSize: Int {
        Self.fixedSize + name.utf8.count + (digest.map { 1 + $0.bytes.count } ?? 0) + (stored == nil ? 0 : 8)
            + (extras?.encodedSize ?? 0)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        form = Form(rawValue: try reader.integer(UInt8.self)) ?? .other
        let presence = Presence(rawValue: try reader.integer(UInt8.self))
        guard Presence.all.isSuperset(of: presence) else { throw .malformed("An entry has unknown flags.") }
        kind = ContentKind(rawValue: try reader.integer(UInt8.self)) ?? .file
        permissions = try reader.integer(UInt16.self)
        size = try reader.integer(UInt64.self)
        guard size <= Limits.uploadSize else {
            throw .malformed("The size of an entry, \(size) bytes, is larger than the largest file.")
        }
        modified = try Timestamp(&reader)
        version = try FileVersion(&reader)
        digest = presence.contains(.digest) ? try reader.digest() : nil
        stored = presence.contains(.stored) ? try reader.integer(Int64.self) : nil
        extras = presence.contains(.extras) ? try Extras(&reader) : nil
        guard form != .symbolicLink || extras?.target.isEmpty != true else {
            throw .malformed("An entry is a link without a target.")
        }
        if extras != nil {
            extras?.isPartial = permissions & Self.partial != 0
            permissions &= ~Self.partial
        }
        guard let name = String(validating: try reader.sizedArray(), as: UTF8.self) else {
            throw .malformed("The name of an entry is not UTF-8.")
        }
        self.name = name
    }

    func encode(into bytes: inout [UInt8]) {
        var presence: Presence = []
        if digest != nil { presence.insert(.digest) }
        if stored != nil { presence.insert(.stored) }
        if extras != nil { presence.insert(.extras) }
        bytes.append(form.rawValue)
        bytes.append(presence.rawValue)
        bytes.append(kind.rawValue)
        bytes.append(bigEndian: extras?.isPartial ?? false ? permissions | Self.partial : permissions)
        bytes.append(bigEndian: size)
        modified.encode(into: &bytes)
        version.encode(into: &bytes)
        if let digest { bytes.append(digest: digest) }
        if let stored { bytes.append(bigEndian: stored) }
        extras?.encode(into: &bytes)
        bytes.append(bigEndian: UInt16(name.utf8.count))
        bytes.append(contentsOf: name.utf8)
    }
}

extension ListedEntry.Extras {
    var encodedSize: Int { 4 + 2 + attributes.encodedSize + 2 + target.count }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        names = try reader.integer(UInt32.self)
        guard let attributes = ExtraAttributes(encoded: try reader.sizedArray()) else {
            throw .malformed("An entry has malformed attributes.")
        }
        self.attributes = attributes
        target = try reader.sizedArray()
        guard target.count <= Limits.path else {
            throw .malformed("The target of a link is longer than a path may be.")
        }
        guard !target.contains(0) else { throw .malformed("The target of a link contains a NUL byte.") }
        isPartial = false
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: names)
        bytes.append(sized: attributes.encoded)
        bytes.append(sized: target.prefix(Limits.path))
    }
}

extension FileVersion {
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        self.init(high: try reader.integer(UInt64.self), low: try reader.integer(UInt64.self))
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }

    /// - Returns: nil if the field is absent.
    /// - Throws: `malformedFrame` if the field has another length.
    init?(_ fields: MessageFields) throws(ProtocolFault) {
        guard let value = fields[.version] else { return nil }
        guard value.count == 16 else { throw .malformed("The field version is not 16 bytes long.") }
        self = try value.span.bytes.withUnsafeBytes { (bytes) throws(ProtocolFault) in
            var reader = BodyReader(bytes)
            return try FileVersion(&reader)
        }
    }

    func encodeField(into bytes: inout [UInt8]) {
        var value: [UInt8] = []
        encode(into: &value)
        bytes.append(field: .version, value)
    }
}
