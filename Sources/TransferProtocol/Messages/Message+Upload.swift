package import TransferModel

/// The sender's digest of a block, sent right after the block's last byte. It is sent only for content of more than one
/// block, so that the receiver detects a damaged block at once.
package struct BlockDigest: Equatable, Sendable {
    /// Index of the block, from 0.
    package var index: UInt64

    /// Plain digest of the block.
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

/// Ends an upload, with size and digest of the content that the sender has read.
package struct End: Equatable, Sendable {
    /// Size of the content in bytes.
    package var size: UInt64

    /// A plain or tree digest, depending on `size`.
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

/// Progress of an upload on the server; not an acknowledgement.
package struct Received: Equatable, Sendable {
    package var id: UploadID

    /// Bytes of content received so far, decompressed.
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
