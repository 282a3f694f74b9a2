import TransferCodec
import TransferModel
import TransferSealing

/// Digests of a file's pieces, made when the file was first read. They ensure that no other content is ever sealed with
/// the secrets that were made for the file. The file's times alone are not enough: the kernel sets them when a write
/// begins, and the bytes may follow much later.
///
/// The digests detect changes of this user's own files. They do not keep an attacker from making two files with the
/// same digests (xxHash): a user who can write to the file knows its content anyway.
struct PieceDigests: Sendable {
    /// Bytes of each piece except the last; the content is sealed in chunks of this size.
    static let pieceSize = SealedLayout.chunkSize

    private static let digestSize = 16

    /// Pieces that are read at once.
    private static let piecesAtOnce = 16

    private let digests: [UInt8]

    /// The digest of the whole content for the note; collision resistant.
    let whole: Digest

    /// Reads a whole file that was just opened. Blocks.
    ///
    /// - Throws: `sourceUnreadable`; `sourceChanged` if the file's size has changed.
    init(of file: SourceFile) throws(Failure) {
        let space = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceSize * Self.piecesAtOnce, alignment: 64)
        defer { space.deallocate() }
        var pieces: [UInt8] = []
        pieces.reserveCapacity(Int(clamping: file.size / UInt64(Self.pieceSize) + 1) * Self.digestSize)
        let digester = ContentDigester(SealedNote.digestFunction)
        var left = file.size
        while left > 0 {
            let wanted = Int(min(left, UInt64(space.count)))
            guard try file.read(into: UnsafeMutableRawBufferPointer(rebasing: space[..<wanted])) == wanted else {
                throw .changed
            }
            let bytes = UnsafeRawBufferPointer(rebasing: space[..<wanted])
            Self.forEach(bytes) { pieces += $0 }
            digester.update(bytes) { _, _ in }
            left -= UInt64(wanted)
        }
        (digests, whole) = (pieces, digester.finish().digest)
    }

    /// Whether these bytes are the same as when the file was first read.
    ///
    /// - Parameter offset: where they begin in the file, at the start of a piece. They end at the end of a piece or of
    ///   the file.
    func match(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) -> Bool {
        guard let first = Int(exactly: offset / UInt64(Self.pieceSize)) else { return false }
        var (place, isSame) = (first.multipliedReportingOverflow(by: Self.digestSize).partialValue, true)
        Self.forEach(bytes) { digest in
            isSame = isSame && digests.dropFirst(place).starts(with: digest)
            place += Self.digestSize
        }
        return isSame
    }

    /// The digest of all digests. It shows whether a file is the one that the secrets were made for.
    var digest: [UInt8] { digests.withUnsafeBytes { BlockHasher.digest(.sha256, $0) } }

    private static func forEach(_ bytes: UnsafeRawBufferPointer, _ body: ([UInt8]) -> Void) {
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + pieceSize)
            body(BlockHasher.digest(.xxh128, UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
            start = end
        }
    }
}
