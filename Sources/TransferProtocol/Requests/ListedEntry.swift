package import TransferModel

/// What a list says of one file or directory.
package struct ListedEntry: Equatable, Sendable {
    /// What has the name.
    package enum Form: UInt8, Sendable {
        case file = 0
        case directory = 1
        /// Only where all is wanted.
        case symbolicLink = 2
        /// Something that this side doesn't know.
        case other = 255
    }

    package var form: Form

    /// A single component, as it is stored; empty for the client's own top.
    package var name: String

    /// Bytes of content; 0 for a directory.
    package var size: UInt64

    package var modified: Timestamp

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16

    /// Of a file; `none` for anything else.
    package var version: FileVersion

    /// As its upload said; `file` where that is not known.
    package var kind: ContentKind

    /// Of the content, where the server knows it without reading.
    package var digest: Digest?

    /// Milliseconds since 1970 when it was acknowledged, where that is known.
    package var stored: Int64?

    /// What is kept of it beside that, where it was asked for.
    package var extras: Extras?

    /// What a list says only where all is wanted.
    package struct Extras: Equatable, Sendable {
        /// Names of a file; the others may be anywhere.
        package var names: UInt32

        package var attributes: ExtraAttributes

        /// What a symbolic link says, none of it zero; empty for anything else.
        package var target: [UInt8]

        /// Whether it has extended attributes that are not told: more than can be, or some that the server may not read.
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
    /// Which of the optional values are there.
    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let digest = Presence(rawValue: 1)
        static let stored = Presence(rawValue: 2)
        static let extras = Presence(rawValue: 4)
        static let all: Presence = [.digest, .stored, .extras]
    }

    /// Beside the permissions, where a client that doesn't know it drops it: there are extended attributes that are not told.
    private static let partial: UInt16 = 0x8000

    /// Bytes of what is always there: form, flags, kind, permissions, size, time, version, length of the name.
    private static let fixedSize = 1 + 1 + 1 + 2 + 8 + 12 + 16 + 2

    /// Bytes that it takes in a frame.
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
        guard size <= Limits.uploadSize else { throw .malformed("An entry of \(size) bytes is larger than any file.") }
        modified = try Timestamp(&reader)
        version = try FileVersion(&reader)
        digest = presence.contains(.digest) ? try reader.digest() : nil
        stored = presence.contains(.stored) ? try reader.integer(Int64.self) : nil
        extras = presence.contains(.extras) ? try Extras(&reader) : nil
        guard form != .symbolicLink || extras?.target.isEmpty != true else {
            throw .malformed("An entry is a link to nothing.")
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
            throw .malformed("An entry has attributes that are none.")
        }
        self.attributes = attributes
        target = try reader.sizedArray()
        guard target.count <= Limits.path else { throw .malformed("An entry is a link to more than a path.") }
        guard !target.contains(0) else { throw .malformed("An entry is a link with a zero byte in it.") }
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

    /// - Returns: nothing where the field is missing.
    /// - Throws: `malformedFrame` for another length.
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
