package import TransferModel

/// Asks the server to move a file, folder or link.
package struct MoveRequest: Equatable, Sendable {
    package var id: UInt32

    /// Present path, which the server checks.
    package var path: String

    /// New path, which the server checks.
    package var target: String

    /// Whether a file may replace an existing file at the target.
    package var replaces: Bool

    /// The place in the trash to which `path` is relative; nil outside the trash.
    package var trash: TrashPlace?

    /// The version that the file must have; nil for any version.
    package var version: FileVersion?

    package init(
        id: UInt32 = 0, path: String, to target: String, replaces: Bool = false, trash: TrashPlace? = nil,
        version: FileVersion? = nil
    ) {
        (self.id, self.path, self.target) = (id, path, target)
        (self.replaces, self.trash, self.version) = (replaces, trash, version)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = try reader.integer(UInt8.self)
        guard flags <= 1 else { throw .malformed("The move frame has unknown flags.") }
        replaces = flags == 1
        path = try reader.path()
        target = try reader.path()
        let fields = try reader.fields(known: [.trash, .version])
        (trash, version) = (try TrashPlace(fields), try FileVersion(fields))
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(replaces ? 1 : 0)
        bytes.append(path: path)
        bytes.append(path: target)
        trash?.encode(into: &bytes)
        version?.encodeField(into: &bytes)
    }
}
