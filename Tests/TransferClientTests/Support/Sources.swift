import TransferClient
import TransferSystem

/// A stream that returns its content in pieces and then ends or throws.
final class PieceSource: ByteSource {
    struct Broken: Error {}

    private let pieces: Locked<ArraySlice<[UInt8]>>
    private let breaks: Bool

    init(_ pieces: [[UInt8]], breaks: Bool = false) {
        self.pieces = Locked(pieces[...])
        self.breaks = breaks
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try pieces.withLock { pieces in
            guard let piece = pieces.first else {
                if breaks { throw Broken() }
                return 0
            }
            let taken = min(piece.count, buffer.count)
            buffer.copyBytes(from: piece[..<taken])
            pieces[pieces.startIndex] = Array(piece[taken...])
            if pieces[pieces.startIndex].isEmpty { pieces.removeFirst() }
            return taken
        }
    }
}

/// A stream that returns a piece whenever its gate has one, and ends when the gate says so.
final class GatedSource: ByteSource {
    private let gate: Gate

    init(_ gate: Gate) {
        self.gate = gate
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let piece = gate.take() else { return 0 }
        buffer.copyBytes(from: piece)
        return piece.count
    }
}
