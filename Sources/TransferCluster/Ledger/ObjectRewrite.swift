package import TransferModel
import TransferPorts

/// What some bytes of an object are used for.
package struct ObjectUse: Equatable, Sendable {
    package enum Purpose: Equatable, Sendable {
        /// They are content of a file.
        case content
        /// The footer describes a file whose bytes are elsewhere, or that is empty; the range is empty.
        case description(size: UInt64, Digest)
        /// They are a part of an unfinished upload.
        case part
    }

    package let object: ObjectNumber
    package let range: Range<UInt64>
    package let purpose: Purpose

    /// The number of the file, and its `touch`; 0 for an unfinished upload.
    package let node: UInt64
    package let touch: Int64

    package init(
        _ object: ObjectNumber, _ range: Range<UInt64>, for purpose: Purpose, by node: UInt64 = 0, touch: Int64 = 0
    ) {
        (self.object, self.range, self.purpose, self.node, self.touch) = (object, range, purpose, node, touch)
    }
}

/// Content that was copied from some objects into a new one, to be used there. The objects are not used any more then
/// (`ClusterLedger.rewrite`).
package struct ObjectRewrite: Sendable {
    /// Bytes that were copied together from one old object.
    package struct Move: Equatable, Sendable {
        package let from: ObjectNumber

        /// The place of the bytes in the other object.
        package let range: Range<UInt64>

        /// The place of the first byte in the new object.
        package let start: UInt64

        package init(_ range: Range<UInt64>, of from: ObjectNumber, to start: UInt64) {
            (self.from, self.range, self.start) = (from, range, start)
        }
    }

    /// The new object, in an open epoch. Its live bytes are those of all old ones together.
    package let object: ObjectRow

    /// The files that use the old objects, with the `touch` that they must still have.
    package let nodes: [UInt64: Int64]

    /// Bytes that are used, without overlaps in one object.
    package let moves: [Move]

    /// The old objects with the live bytes that they must still have.
    package let emptied: [ObjectNumber: UInt64]

    package init(
        _ object: ObjectRow, nodes: [UInt64: Int64], _ moves: [Move], emptied: [ObjectNumber: UInt64]
    ) {
        (self.object, self.nodes, self.moves, self.emptied) = (object, nodes, moves, emptied)
    }

    /// The new place of bytes of an old object; nil if they were not copied together.
    package func place(of range: Range<UInt64>, in object: ObjectNumber) -> UInt64? {
        let move = moves.first { $0.from == object && $0.range.clamped(to: range) == range }
        return move.map { $0.start + (range.lowerBound - $0.range.lowerBound) }
    }

    /// Why no ledger can make the change; nil if it can.
    package var contradiction: LedgerError? {
        let sum = emptied.values.reduce(UInt64(0)) { $0.addingClamped($1) }
        let isSound =
            object.isStorable && object.number != .none && sum == object.live && emptied[object.number] == nil
            && object.number.epoch <= EpochRow.greatest && nodes.keys.allSatisfy { LedgerNumber.isStorable($0) }
            && !emptied.keys.contains { $0 == .none || !LedgerNumber.isStorable($0.rawValue) }
            && moves.allSatisfy { move in
                emptied[move.from] != nil && !move.range.isEmpty && LedgerNumber.isStorable(move.range.upperBound)
                    && LedgerNumber.isStorable(move.start)
            }
        return isSound
            ? nil : LedgerError(.damaged, "The server has rewritten objects in a way that contradicts itself.")
    }
}
