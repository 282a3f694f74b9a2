import TransferModel
import TransferSealing

/// Reads a range of a sealed file. It returns only bytes that were sealed from the content that the file had when it
/// was first read.
final class SealedReader {
    private let file: SealedFile
    private let content: SourceFile
    private let sealer: Sealer
    /// Bytes of content that are still to be read.
    private var unread: UInt64
    /// Offset in the file of the unread content.
    private var offset: UInt64
    /// Sealed bytes that are still to be returned.
    private var left: UInt64
    private var sealed: [UInt8] = []
    private var position = 0
    private var hasEnded = false
    private let piece: UnsafeMutableRawBufferPointer

    /// Bytes of content that are sealed at a time: whole pieces, whose digests are known.
    private static let pieceSize = UInt64(4 * PieceDigests.pieceSize)

    /// - Parameters:
    ///   - content: begins at the offset that the sealer needs, and goes to the end of the file.
    ///   - size: number of sealed bytes to return.
    init(_ file: SealedFile, _ content: SourceFile, _ sealer: Sealer, size: UInt64) {
        (self.file, self.content, self.sealer) = (file, content, sealer)
        (unread, left) = (content.size, size)
        offset = file.source.file.size - min(content.size, file.source.file.size)
        piece = .allocate(byteCount: Int(min(Self.pieceSize, max(1, content.size))), alignment: 64)
    }

    deinit {
        piece.deallocate()
    }

    /// - Returns: number of bytes; fewer than requested only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        do throws(Failure) {
            var filled = 0
            while filled < buffer.count, left > 0 {
                if position == sealed.count { try seal() }
                let count = Int(min(UInt64(min(buffer.count - filled, sealed.count - position)), left))
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                sealed.withUnsafeBytes {
                    rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
                }
                (position, filled, left) = (position + count, filled + count, left - UInt64(count))
            }
            return filled
        } catch {
            throw file.given(up: error)
        }
    }

    /// Seals the next piece, and at the end the sealer's rest.
    private func seal() throws(Failure) {
        guard !hasEnded else { throw .changed }
        sealed.removeAll(keepingCapacity: true)
        position = 0
        let count = Int(min(UInt64(piece.count), unread))
        if count > 0 {
            let got = try content.read(into: UnsafeMutableRawBufferPointer(rebasing: piece[..<count]))
            // Check the bytes before any of them is returned: the secrets may seal only the content that was read
            // first.
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
            guard got == count, content.isUntouched, file.source.content.match(bytes, at: offset) else {
                throw .changed
            }
            try Failure.whileSealing { () throws(SealingError) in
                try sealer.seal(bytes.bytes, into: &sealed)
            }
            unread -= UInt64(count)
            offset += UInt64(count)
        }
        guard unread == 0 else { return }
        hasEnded = true
        try Failure.whileSealing { () throws(SealingError) in try sealer.finish(into: &sealed) }
    }

    /// - Throws: `sourceChanged` if the file has changed.
    func checkUnchanged() throws(Failure) {
        do throws(Failure) {
            _ = try file.source.open(0..<0)
        } catch {
            throw file.given(up: .changed)
        }
    }
}
