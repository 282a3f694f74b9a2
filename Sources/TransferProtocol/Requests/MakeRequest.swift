package import TransferModel

/// Asks the server to make a folder, link or copy, or to change attributes of an existing entry.
package struct MakeRequest: Equatable, Sendable {
    /// Type of the entry to make.
    package enum Form: UInt8, Sendable, CaseIterable {
        /// No entry is made; the attributes of an existing one change.
        case nothing = 0
        case directory = 1
        /// A symbolic link, which the server never follows.
        case symbolicLink = 2
        /// A second name of an existing file.
        case hardLink = 3
        /// A copy of an existing file.
        case copy = 4

        /// Whether the request must have a target.
        var hasTarget: Bool { self == .symbolicLink || self == .hardLink || self == .copy }
    }

    package var id: UInt32
    package var form: Form

    /// Path of the entry to make or change, which the server checks.
    package var path: String

    /// For a symbolic link, its target: any bytes but zero, which the server does not interpret. For a hard link or
    /// copy, the path of the existing file.
    package var target: [UInt8]

    /// Whether an existing file or link is replaced.
    package var replaces: Bool

    /// Permission bits, 0 to 0o777, which are applied regardless of the umask; nil to leave the present ones.
    package var permissions: UInt16?

    /// Time of modification, for a symbolic link that of the link itself; nil to leave the present one.
    package var modified: Timestamp?

    /// Owner and extended attributes; nil to leave the present ones.
    package var attributes: ExtraAttributes?

    /// The version that the file or link must have that is changed or replaced; nil for any version. Not permitted for
    /// a copy, and for a new entry only with `replaces`.
    package var version: FileVersion?

    package init(
        id: UInt32 = 0, _ form: Form, path: String, target: [UInt8] = [], replaces: Bool = false,
        permissions: UInt16? = nil, modified: Timestamp? = nil, attributes: ExtraAttributes? = nil,
        version: FileVersion? = nil
    ) {
        self.version = version
        (self.id, self.form, self.path, self.target, self.replaces) = (id, form, path, target, replaces)
        (self.permissions, self.modified, self.attributes) = (permissions, modified, attributes)
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let permissions = Flags(rawValue: 1)
        static let modified = Flags(rawValue: 2)
        static let replaces = Flags(rawValue: 4)
        static let all: Flags = [.permissions, .modified, .replaces]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        guard let form = Form(rawValue: try reader.integer(UInt8.self)) else {
            throw .malformed("The make frame has an unknown form.")
        }
        self.form = form
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The make frame has unknown flags.") }
        replaces = flags.contains(.replaces)
        permissions = flags.contains(.permissions) ? try reader.integer(UInt16.self) & 0o777 : nil
        modified = flags.contains(.modified) ? try Timestamp(&reader) : nil
        path = try reader.path()
        let fields = try reader.fields(known: [.target, .attributes, .version])
        target = fields[.target] ?? []
        guard target.count <= Limits.path, target.isEmpty != form.hasTarget else {
            throw .malformed("The target of the make frame is missing, too long or not allowed.")
        }
        guard form != .symbolicLink || !target.contains(0) else {
            throw .malformed("The make frame has a target with a NUL byte, which no link can have.")
        }
        attributes = try ExtraAttributes(fields)
        version = try FileVersion(fields)
        guard version == nil || form == .nothing || form != .copy && replaces else {
            throw .malformed("The make frame has the version of a file, but changes no file.")
        }
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if permissions != nil { flags.insert(.permissions) }
        if modified != nil { flags.insert(.modified) }
        if replaces { flags.insert(.replaces) }
        bytes.append(bigEndian: id)
        bytes.append(form.rawValue)
        bytes.append(flags.rawValue)
        if let permissions { bytes.append(bigEndian: permissions) }
        if let modified { modified.encode(into: &bytes) }
        bytes.append(path: path)
        if !target.isEmpty { bytes.append(field: .target, target.prefix(Limits.path)) }
        if let attributes, !attributes.isEmpty { bytes.append(field: .attributes, attributes.encoded) }
        version?.encodeField(into: &bytes)
    }
}

extension ExtraAttributes {
    /// - Returns: nil if the field is absent or has no attributes.
    /// - Throws: `malformedFrame`.
    init?(_ fields: MessageFields) throws(ProtocolFault) {
        guard let value = fields[.attributes] else { return nil }
        guard let attributes = ExtraAttributes(encoded: value) else {
            throw .malformed("The field attributes has neither an owner nor extended attributes.")
        }
        // An empty field counts as absent.
        guard !attributes.isEmpty else { return nil }
        self = attributes
    }
}
