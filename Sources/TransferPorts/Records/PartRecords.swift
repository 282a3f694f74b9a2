package import TransferModel

/// Records of the verified parts of uploads, in a store that keeps them (`PartStore.records`). Several servers may use
/// them at once.
///
/// An upload has a record as long as the store has a place for its parts: from `PartStore.resume` until they are
/// published or discarded. The record has an epoch. A connection looks at it with each part that it begins. A connection
/// that resumes the upload begins the next epoch, and parts that were begun in an older epoch are refused at every
/// server.
package protocol PartRecords: Sendable {
    /// Returns the recorded parts and their epoch.
    ///
    /// - Throws: `incomplete` if there is no record.
    func join(_ id: UploadID) throws(Failure) -> RecordedParts

    /// Returns the epoch of the record, and whether verified bytes of a range are recorded: a long upload has many parts.
    ///
    /// - Throws: `incomplete` if there is no record.
    func look(_ id: UploadID, in range: Range<UInt64>) throws(Failure) -> (epoch: UInt64, hasBytes: Bool)

    /// Begins the next epoch, with the parts recorded so far. No epoch is used twice, not even for an upload that
    /// begins again with the same id.
    ///
    /// - Throws: `incomplete` if there is no record.
    func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts

    /// Removes the record of some bytes, which are about to be written again.
    ///
    /// - Throws: `incomplete` if the upload has another epoch by now.
    func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure)

    /// Records verified bytes, in place of earlier records of them. When this returns, the record is as durable as the
    /// store's publications.
    ///
    /// - Throws: `incomplete` if the upload has another epoch by now.
    func add(_ part: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure)

    /// Removes the upload with its record, unless the recorded parts have at least so many bytes together. No part that
    /// is recorded meanwhile is lost.
    ///
    /// - Returns: false if the upload stays.
    func remove(_ id: UploadID, below size: UInt64) throws(Failure) -> Bool
}

extension PartRecords {
    package func look(_ id: UploadID, in range: Range<UInt64>) throws(Failure) -> (epoch: UInt64, hasBytes: Bool) {
        let recorded = try join(id)
        return (recorded.epoch, recorded.parts.contains { $0.range.overlaps(range) })
    }
}

/// The recorded parts of one upload, and its epoch.
package struct RecordedParts: Equatable, Sendable {
    package let epoch: UInt64

    /// In order and without overlaps.
    package let parts: [RecordedPart]

    package init(epoch: UInt64, _ parts: [RecordedPart]) { (self.epoch, self.parts) = (epoch, parts) }
}

/// Bytes of an upload that were verified together: whole blocks, of which the upload's last one may be short, or a
/// piece of one block.
package struct RecordedPart: Equatable, Sendable {
    package let range: Range<UInt64>

    /// The digests of the blocks, concatenated; empty for a piece of a block.
    package let digests: [UInt8]

    package init(_ range: Range<UInt64>, digests: [UInt8]) { (self.range, self.digests) = (range, digests) }

    package var isPiece: Bool { digests.isEmpty }

    /// The part without some bytes: whole blocks with their digests, and pieces of blocks that are cut.
    package func without(_ taken: Range<UInt64>) -> [RecordedPart] {
        cut(to: range.lowerBound..<max(range.lowerBound, min(taken.lowerBound, range.upperBound)))
            + cut(to: min(max(taken.upperBound, range.lowerBound), range.upperBound)..<range.upperBound)
    }

    private static let blockSize = UInt64(Limits.blockSize)

    /// - Parameter kept: a range at the beginning or the end of the part; may be empty.
    private func cut(to kept: Range<UInt64>) -> [RecordedPart] {
        guard !kept.isEmpty else { return [] }
        guard !isPiece else { return [RecordedPart(kept, digests: [])] }
        let count = (range.upperBound - range.lowerBound + Self.blockSize - 1) / Self.blockSize
        let size = digests.count / max(1, Int(count))
        // A short last block is a whole block.
        let start = (kept.lowerBound + Self.blockSize - 1) / Self.blockSize * Self.blockSize
        let end =
            kept.upperBound == range.upperBound ? kept.upperBound : kept.upperBound / Self.blockSize * Self.blockSize
        guard start < end else { return [RecordedPart(kept, digests: [])] }
        let first = Int((start - range.lowerBound) / Self.blockSize) * size
        let last = min(digests.count, first + Int((end - start + Self.blockSize - 1) / Self.blockSize) * size)
        let ranges = [(kept.lowerBound..<start, []), (start..<end, digests[first..<last]), (end..<kept.upperBound, [])]
        return ranges.filter { !$0.0.isEmpty }.map { range, digests in RecordedPart(range, digests: Array(digests)) }
    }
}

extension Failure {
    /// Refuses a request for an upload over an older connection or in an older epoch.
    package static let takenOver = Failure(.incomplete, "A newer connection has taken over the upload.")
}
