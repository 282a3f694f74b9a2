package import TransferModel

/// What the sender says a block's digest is, right after the block's last byte. Only for content of more than one
/// block; the receiver knows a bad block at once.
package struct BlockDigest: Equatable, Sendable {
    /// Counts from 0.
    package var index: UInt64

    /// Plain, of the block's bytes.
    package var digest: Digest

    package init(index: UInt64, digest: Digest) {
        self.index = index
        self.digest = digest
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        index = try reader.integer(UInt64.self)
        digest = try reader.digest()
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: index)
        bytes.append(digest: digest)
    }
}

/// Closes an upload: what the sender read.
package struct End: Equatable, Sendable {
    /// Bytes of content.
    package var size: UInt64

    /// Plain or tree, as `size` demands.
    package var digest: Digest

    package init(size: UInt64, digest: Digest) {
        self.size = size
        self.digest = digest
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        size = try reader.integer(UInt64.self)
        digest = try reader.digest()
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: size)
        bytes.append(digest: digest)
    }
}

/// How much of a running upload the server has taken in; for progress, not a promise.
package struct Received: Equatable, Sendable {
    package var id: UploadID

    /// Bytes of content, after inflating.
    package var bytes: UInt64

    package init(id: UploadID, bytes: UInt64) {
        self.id = id
        self.bytes = bytes
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.uploadID()
        bytes = try reader.integer(UInt64.self)
    }

    func encode(into bytes: inout [UInt8]) {
        id.encode(into: &bytes)
        bytes.append(bigEndian: self.bytes)
    }
}

extension [UInt8] {
    package mutating func append(digest: Digest) {
        append(digest.algorithm.rawValue)
        append(contentsOf: digest.bytes)
    }
}
