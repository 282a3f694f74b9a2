import TransferModel

/// How the lanes of a push share long files.
package struct PartSharing: Equatable, Sendable {
    /// That there may come to be, which are to end together.
    package var lanes: Int

    /// Whether a part may be a piece of a block: the server takes them, and the line is what the push waits for.
    package var inPieces: Bool

    /// Whether each lane is so slow that also shorter files are shared.
    package var sharesShorter: Bool

    package init(lanes: Int = 1, inPieces: Bool = false, sharesShorter: Bool = false) {
        (self.lanes, self.inPieces, self.sharesShorter) = (lanes, inPieces, sharesShorter)
    }

    /// Bytes of a part at most, except of a very long file: long enough that its frames cost nothing.
    private static let usualPart = 4 * blockSize

    /// A part is no more than what is left for each lane, divided by this: those who take the last ones end together, and one that is
    /// slow keeps the others waiting for a short one only.
    private static let partsForEach: UInt64 = 2

    /// Bytes of a piece at least: half a second of a lane that losses hold down to 2 Mbit/s.
    private static let leastPiece = UInt64(2 * Limits.pieceSize)

    private static let blockSize = UInt64(Limits.blockSize)

    /// Bytes from which every file is split. What is interrupted before this is sent again from its front.
    static let usualSmallestFile = 2 * blockSize

    /// Bytes from which a file may be split: some pieces.
    static let smallestFile = 4 * leastPiece

    func splits(fileOf size: UInt64) -> Bool {
        size >= (inPieces && sharesShorter ? Self.smallestFile : Self.usualSmallestFile)
    }

    /// - Parameters:
    ///   - left: bytes that nobody has taken.
    ///   - least: bytes of whole blocks, where the file is too long for shorter parts.
    /// - Returns: bytes of the next part, whole blocks or less than one.
    func partSize(left: UInt64, least: UInt64) -> UInt64 {
        guard lanes > 1 else { return max(least, Self.usualPart) }
        let share = left / Self.partsForEach / UInt64(lanes)
        guard share < Self.blockSize, least <= Self.blockSize, inPieces else {
            return max(least, min(Self.usualPart, share / Self.blockSize * Self.blockSize))
        }
        let piece = UInt64(Limits.pieceSize)
        return max(Self.leastPiece, share / piece * piece)
    }
}
