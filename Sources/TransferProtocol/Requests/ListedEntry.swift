package import TransferModel

/// What a list says of one file or directory.
package struct ListedEntry: Equatable, Sendable {
    /// What has the name.
    package enum Form: UInt8, Sendable {
        case file = 0
        case directory = 1
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

    package init(
        _ form: Form, name: String, size: UInt64, modified: Timestamp, permissions: UInt16,
        version: FileVersion = .none, kind: ContentKind = .file, digest: Digest? = nil, stored: Int64? = nil
    ) {
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
        static let all: Presence = [.digest, .stored]
    }

    /// Bytes of what is always there: form, flags, kind, permissions, size, time, version, length of the name.
    private static let fixedSize = 1 + 1 + 1 + 2 + 8 + 12 + 16 + 2

    /// Bytes that it takes in a frame.
    package var encodedSize: Int {
        Self.fixedSize + name.utf8.count + (digest.map { 1 + $0.bytes.count } ?? 0) + (stored == nil ? 0 : 8)
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
        guard let name = String(validating: try reader.sizedArray(), as: UTF8.self) else {
            throw .malformed("The name of an entry is not UTF-8.")
        }
        self.name = name
    }

    func encode(into bytes: inout [UInt8]) {
        var presence: Presence = []
        if digest != nil { presence.insert(.digest) }
        if stored != nil { presence.insert(.stored) }
        bytes.append(form.rawValue)
        bytes.append(presence.rawValue)
        bytes.append(kind.rawValue)
        bytes.append(bigEndian: permissions)
        bytes.append(bigEndian: size)
        modified.encode(into: &bytes)
        version.encode(into: &bytes)
        if let digest { bytes.append(digest: digest) }
        if let stored { bytes.append(bigEndian: stored) }
        bytes.append(bigEndian: UInt16(name.utf8.count))
        bytes.append(contentsOf: name.utf8)
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
}
