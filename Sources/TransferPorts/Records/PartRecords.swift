package import TransferModel

/// What was verified of uploads in parts, in a store that records it: `PartStore.records`. Several servers may ask at once.
///
/// An upload has a record as long as the store has a place for its parts, from `PartStore.resume` until they are published or thrown away.
/// The record has an epoch. A connection joins it with each part that it begins. One that asks what is there begins the next epoch, and
/// parts that were begun before are refused from then on, whichever server they come to.
package protocol PartRecords: Sendable {
    /// What is recorded, and the epoch in which it counts.
    ///
    /// - Throws: `incomplete` where there is no record.
    func join(_ id: UploadID) throws(Failure) -> RecordedParts

    /// Begins the next epoch, with what is recorded so far. No epoch is given twice, also not to an upload that begins again with the
    /// same id.
    ///
    /// - Throws: `incomplete` where there is no record.
    func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts

    /// Takes back what is recorded of some bytes, which are about to be written again.
    ///
    /// - Throws: `incomplete` where this is not the upload's epoch any more.
    func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure)

    /// Records verified bytes in place of what is recorded of them. As durable as the store's publications when it returns.
    ///
    /// - Throws: `incomplete` where this is not the upload's epoch any more.
    func add(_ part: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure)
}

/// What is recorded of one upload.
package struct RecordedParts: Equatable, Sendable {
    package let epoch: UInt64

    /// In order; none overlaps another.
    package let parts: [RecordedPart]

    package init(epoch: UInt64, _ parts: [RecordedPart]) { (self.epoch, self.parts) = (epoch, parts) }
}

/// Some bytes of an upload that were verified together: whole blocks, of which the upload's last one may be short, or a piece of one block.
package struct RecordedPart: Equatable, Sendable {
    package let range: Range<UInt64>

    /// The digests of its blocks, concatenated; empty for a piece of a block.
    package let digests: [UInt8]

    package init(_ range: Range<UInt64>, digests: [UInt8]) { (self.range, self.digests) = (range, digests) }

    package var isPiece: Bool { digests.isEmpty }

    /// What is left of it without these bytes: whole blocks with their digests, and pieces of those that are cut.
    package func without(_ taken: Range<UInt64>) -> [RecordedPart] {
        cut(to: range.lowerBound..<max(range.lowerBound, min(taken.lowerBound, range.upperBound)))
            + cut(to: min(max(taken.upperBound, range.lowerBound), range.upperBound)..<range.upperBound)
    }

    private static let blockSize = UInt64(Limits.blockSize)

    /// - Parameter kept: from its front, or to its end; may be empty.
    private func cut(to kept: Range<UInt64>) -> [RecordedPart] {
        guard !kept.isEmpty else { return [] }
        guard !isPiece else { return [RecordedPart(kept, digests: [])] }
        let count = (range.upperBound - range.lowerBound + Self.blockSize - 1) / Self.blockSize
        let size = digests.count / max(1, Int(count))
        // A last block that is short is whole.
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
    /// For what comes of an upload over a connection or in an epoch that is not its newest.
    package static let takenOver = Failure(.incomplete, "A newer connection has taken over the upload.")
}
