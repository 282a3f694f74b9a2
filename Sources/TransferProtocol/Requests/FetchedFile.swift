package import TransferModel

/// Opens the answer to a `fetch`: metadata of the content that follows.
package struct FetchedFile: Equatable, Sendable {
    /// ID of the request that this answers.
    package var id: UInt32

    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16

    /// Size of the whole content in bytes.
    package var size: UInt64

    package var modified: Timestamp

    package var version: FileVersion

    /// Offset at which the content that follows begins: the requested offset, or 0.
    package var offset: UInt64

    /// Bytes of the whole content that are outside holes, as far as the server can tell; nil for content without holes,
    /// and for a client that accepts no holes. A number above the size counts as the size.
    package var filled: UInt64?

    package init(
        id: UInt32, permissions: UInt16, size: UInt64, modified: Timestamp, version: FileVersion,
        offset: UInt64 = 0, filled: UInt64? = nil
    ) {
        self.id = id
        self.permissions = permissions
        self.size = size
        self.modified = modified
        self.version = version
        self.offset = offset
        self.filled = filled
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        permissions = try reader.integer(UInt16.self)
        size = try reader.integer(UInt64.self)
        modified = try Timestamp(&reader)
        version = try FileVersion(&reader)
        offset = try reader.integer(UInt64.self)
        guard size <= Limits.uploadSize, offset <= size else {
            throw .malformed("A file of \(size) bytes cannot be sent from offset \(offset).")
        }
        filled = try reader.fields(known: [.filled]).longNumber(.filled)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(bigEndian: permissions)
        bytes.append(bigEndian: size)
        modified.encode(into: &bytes)
        version.encode(into: &bytes)
        bytes.append(bigEndian: offset)
        if let filled { bytes.append(field: .filled, longNumber: filled) }
    }
}
