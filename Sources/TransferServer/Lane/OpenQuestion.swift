import TransferModel
import TransferProtocol
import TransferStore

/// A client's question what there is of an upload, as long as it is being answered.
struct OpenQuestion {
    /// Where the answer comes from.
    enum Source {
        /// Verified while this server received it.
        case memory(VerifiedParts)
        /// A file, which has to be read.
        case file(BlockSurvey, Assembly)
    }

    let receiving: Receiving

    /// As the client knows it.
    let id: UploadID

    /// Whether the connection has not worked on the upload before.
    let isFirst: Bool

    /// Blocks that were found.
    private(set) var count = 0

    /// Nothing when all was told.
    private var source: Source?
    private var report: BlockReport

    init(_ receiving: Receiving, _ source: Source, isFirst: Bool, _ id: UploadID) {
        (self.receiving, self.source, self.isFirst, self.id) = (receiving, source, isFirst, id)
        report = BlockReport(id, receiving.begin.digest)
    }

    /// Finds some blocks more.
    ///
    /// - Returns: frames for the client; nothing at the end.
    mutating func step(threads: Int) throws(StoreError) -> [UInt8]? {
        switch source {
        case nil: return nil
        case .memory(let parts):
            source = nil
            return frames(of: parts)
        case .file(var survey, let assembly):
            guard let blocks = try survey.step(threads: threads) else { return nil }
            source = .file(survey, assembly)
            assembly.add(blocks)
            return frames(of: blocks)
        }
    }

    private mutating func frames(of parts: VerifiedParts) -> [UInt8] {
        var frames: [UInt8] = []
        parts.forEachBlock(digestSize: receiving.begin.digest.size) { index, digest in
            count += 1
            report.add(index, Array(digest), to: &frames)
        }
        report.finish(to: &frames)
        return frames
    }

    private mutating func frames(of blocks: [StagedFile.Block]) -> [UInt8] {
        var frames: [UInt8] = []
        count += blocks.count
        for block in blocks { report.add(block.index, block.digest, to: &frames) }
        report.finish(to: &frames)
        return frames
    }
}
