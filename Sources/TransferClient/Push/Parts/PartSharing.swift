import TransferModel

/// How the lanes of a push share long files.
package struct PartSharing: Equatable, Sendable {
    /// The most lanes that the push may get; the sizes of parts are chosen so that all lanes end together.
    package var lanes: Int

    /// Whether a part may be a piece of a block: the server accepts pieces, and the line limits the push.
    package var inPieces: Bool

    /// Whether each lane is so slow that shorter files are shared as well.
    package var sharesShorter: Bool

    /// Whether all parts have the usual length: the server stores each as an object, and no line delays a lane.
    package var inObjects: Bool

    package init(lanes: Int = 1, inPieces: Bool = false, sharesShorter: Bool = false, inObjects: Bool = false) {
        (self.lanes, self.inPieces, self.sharesShorter) = (lanes, inPieces, sharesShorter)
        self.inObjects = inObjects
    }

    /// The most bytes of a part, except for very long files: long enough that the frames cost nothing.
    private static let usualPart = 4 * blockSize

    /// A part has at most one lane's share of the remaining bytes, divided by this number. So the lanes end together,
    /// and a slow one delays the others only by a short part.
    private static let partsForEach: UInt64 = 2

    /// The least bytes of a piece: half a second of a lane that losses hold down to 2 Mbit/s.
    private static let leastPiece = UInt64(2 * Limits.pieceSize)

    private static let blockSize = UInt64(Limits.blockSize)

    /// The size from which every file is split. A shorter file that was interrupted is sent again from its beginning.
    static let usualSmallestFile = 2 * blockSize

    /// The size from which on a file may be split if lanes are slow: a few pieces.
    static let smallestFile = 4 * leastPiece

    func splits(fileOf size: UInt64) -> Bool {
        size >= (inPieces && sharesShorter ? Self.smallestFile : Self.usualSmallestFile)
    }

    /// - Parameters:
    ///   - left: the bytes that no lane has taken yet.
    ///   - least: the least bytes of a part, in whole blocks; it keeps the number of parts of a very long file small.
    /// - Returns: the bytes of the next part: whole blocks, or less than one.
    func partSize(left: UInt64, least: UInt64) -> UInt64 {
        guard lanes > 1, !inObjects else { return max(least, Self.usualPart) }
        let share = left / Self.partsForEach / UInt64(lanes)
        guard share < Self.blockSize, least <= Self.blockSize, inPieces else {
            return max(least, min(Self.usualPart, share / Self.blockSize * Self.blockSize))
        }
        let piece = UInt64(Limits.pieceSize)
        return max(Self.leastPiece, share / piece * piece)
    }
}
