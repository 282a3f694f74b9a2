import TransferModel

/// Asks for a file, or a directory with all that is in it, to be removed.
package struct RemoveRequest: Equatable, Sendable {
    package var id: UInt32

    /// Checked by the server.
    package var path: String

    /// Whether it may be a directory.
    package var isRecursive: Bool

    package init(id: UInt32, path: String, isRecursive: Bool = false) {
        self.id = id
        self.path = path
        self.isRecursive = isRecursive
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = try reader.integer(UInt8.self)
        guard flags <= 1 else { throw .malformed("The remove frame has unknown flags.") }
        isRecursive = flags == 1
        path = try reader.path()
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(isRecursive ? 1 : 0)
        bytes.append(path: path)
    }
}
