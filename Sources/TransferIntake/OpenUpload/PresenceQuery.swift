package import TransferModel
import TransferPorts

/// A question what the server has of an upload.
package struct PresenceQuery {
    /// Where the blocks are found.
    enum Source {
        /// Verified while this server received them.
        case memory(VerifiedParts)
        /// In the store, which has to read them.
        case content(any ContentSurvey, MultipartUpload)
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
            var blocks: [Block] = []
            parts.forEachBlock(digestSize: upload.intent.function.size) { blocks.append(($0, Array($1))) }
            count = blocks.count
            return blocks
        case .content(var survey, let multipart):
            guard let found = try survey.step(threads: threads) else { return nil }
            source = .content(survey, multipart)
            multipart.add(found)
            count += found.count
            return found.map { ($0.index, $0.digest) }
        }
    }
}
