package import TransferModel

/// Asks the server to remove a file, or a directory with its contents.
package struct RemoveRequest: Equatable, Sendable {
    package var id: UInt32

    /// Path of the entry, which the server checks.
    package var path: String

    /// Whether the entry may be a directory.
    package var isRecursive: Bool

    /// Whether the entry is moved to the trash.
    package var keepsInTrash: Bool

    /// The place in the trash to which the path is relative; nil outside the trash.
    package var trash: TrashPlace?

    /// The version that the file must have; nil for any version.
    package var version: FileVersion?

    package init(
        id: UInt32 = 0, path: String, isRecursive: Bool = false, keepsInTrash: Bool = false, trash: TrashPlace? = nil,
        version: FileVersion? = nil
    ) {
        (self.id, self.path, self.trash, self.version) = (id, path, trash, version)
        (self.isRecursive, self.keepsInTrash) = (isRecursive, keepsInTrash)
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let recursive = Flags(rawValue: 1)
        static let trash = Flags(rawValue: 2)
        static let all: Flags = [.recursive, .trash]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The remove frame has unknown flags.") }
        (isRecursive, keepsInTrash) = (flags.contains(.recursive), flags.contains(.trash))
        path = try reader.path()
        let fields = try reader.fields(known: [.trash, .version])
        (trash, version) = (try TrashPlace(fields), try FileVersion(fields))
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if isRecursive { flags.insert(.recursive) }
        if keepsInTrash { flags.insert(.trash) }
        bytes.append(bigEndian: id)
        bytes.append(flags.rawValue)
        bytes.append(path: path)
        trash?.encode(into: &bytes)
        version?.encodeField(into: &bytes)
    }
}
