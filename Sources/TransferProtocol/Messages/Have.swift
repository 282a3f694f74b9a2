package import TransferModel

/// Digests of blocks that the server already has, computed when they are requested. The client compares them with its
/// own and sends the blocks that differ.
package struct Have: Equatable, Sendable {
    package var id: UploadID

    /// Index of the first block. The digests that follow are those of the next blocks, without gaps.
    package var first: UInt64

    /// Plain digest of each block.
    package var digests: [Digest]

    /// Most blocks in one frame: 64, which are 256 MiB. A client can begin to compare while the server still reads
    /// further blocks.
    package static let mostBlocks = 64

    package init(id: UploadID, first: UInt64, digests: [Digest]) {
        self.id = id
        self.first = first
        self.digests = digests
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.uploadID()
        first = try reader.integer(UInt64.self)
        let count = Int(try reader.integer(UInt16.self))
        let (_, overflow) = first.addingReportingOverflow(UInt64(count))
        guard count <= Self.mostBlocks, !overflow else { throw .malformed("A have frame has too many blocks.") }
        digests = []
        for _ in 0..<count { digests.append(try reader.digest()) }
    }

    func encode(into bytes: inout [UInt8]) {
        id.encode(into: &bytes)
        bytes.append(bigEndian: first)
        bytes.append(bigEndian: UInt16(digests.count))
        for digest in digests { bytes.append(digest: digest) }
    }
}
