package import TransferModel
import TransferPorts

/// A question what the server has of an upload.
package struct PresenceQuery {
    /// Where the blocks are found.
    enum Source {
        /// The blocks are in memory: they were verified while this server received them.
        case memory(VerifiedParts)
        /// The blocks are in the store, which has to read them; `returned` are the indexes of blocks that have been
        /// returned.
        case content(any ContentSurvey, MultipartUpload, returned: Set<UInt64>)
    }

    /// A block that the server has.
    package typealias Block = (index: UInt64, digest: [UInt8])

    package let upload: OpenUpload

    /// Whether the connection has not worked on the upload before.
    package let isFirst: Bool

    /// Number of blocks found so far.
    package private(set) var count = 0

    /// Nil when all blocks have been returned.
    private var source: Source?

    init(_ upload: OpenUpload, _ source: Source, isFirst: Bool) {
        (self.upload, self.source, self.isFirst) = (upload, source, isFirst)
    }

    /// Finds some more blocks.
    ///
    /// - Parameter threads: how many threads may read.
    /// - Returns: nil at the end.
    package mutating func step(threads: Int) throws(Failure) -> [Block]? {
        switch source {
        case nil: return nil
        case .memory(let parts):
            source = nil
            return blocks(of: parts, without: [])
        case .content(var survey, let multipart, var returned):
            guard let found = try survey.step(threads: threads) else {
                // Other connections may have sent blocks since this server started.
                source = nil
                return blocks(of: multipart.endReading(), without: returned)
            }
            let counting = multipart.add(found)
            returned.formUnion(counting.lazy.map(\.index))
            source = .content(survey, multipart, returned: returned)
            count += counting.count
            return counting.map { ($0.index, $0.digest) }
        }
    }

    private mutating func blocks(of parts: VerifiedParts, without returned: Set<UInt64>) -> [Block] {
        var blocks: [Block] = []
        parts.forEachBlock(digestSize: upload.intent.function.size) { index, digest in
            if !returned.contains(index) { blocks.append((index, Array(digest))) }
        }
        count += blocks.count
        return blocks
    }
}
