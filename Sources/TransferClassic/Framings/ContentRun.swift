/// So many bytes that come next, in any pieces.
struct ContentRun {
    /// Bytes of all.
    let size: UInt64

    private(set) var remaining: UInt64

    init(_ size: UInt64) {
        self.size = size
        remaining = size
    }

    var isOver: Bool { remaining == 0 }

    /// Takes what is there of them, which is nothing when nothing is there.
    ///
    /// - Returns: where it lies in what is shown.
    mutating func take(of bytes: RawSpan) -> Range<Int> {
        let count = Int(min(remaining, UInt64(bytes.byteCount)))
        remaining -= UInt64(count)
        return 0..<count
    }

    /// The next step of an upload whose content these bytes are: `content`, and `end` when all of it was.
    mutating func content(in bytes: RawSpan) -> ClassicProgress {
        guard !isOver else { return ClassicProgress(.end(ClassicEnd(size: size))) }
        let piece = take(of: bytes)
        return piece.isEmpty ? ClassicProgress(.needsMore) : ClassicProgress(.content(piece), consumed: piece.count)
    }

    /// The next step over bytes that mean nothing.
    mutating func skip(in bytes: RawSpan) -> ClassicProgress {
        let piece = take(of: bytes)
        return piece.isEmpty && !isOver
            ? ClassicProgress(.needsMore) : ClassicProgress(.nothing, consumed: piece.count)
    }
}

extension RawSpan {
    /// A copy of the bytes there; the caller has checked that they are inside.
    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBytes { Array($0) }
    }
}
